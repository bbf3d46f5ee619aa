/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The tracepoints of the ports' qdiscs, which count the octets of flows in queues. They see
 * every qdisc of the machine, so they are attached only while they are needed.
 *
 * A packet that HTB drops on the way in is not seen here; the egress program foresees it. One
 * that the netdev refuses comes out twice: the qdisc counts those. Packets that a reset discards
 * never come out: the next packet finds the port empty.
 */
#ifndef SOFTSAI_WATCH_H
#define SOFTSAI_WATCH_H

#include "device.h"
#include "handover.h"
#include "slots.h"

/* The members of the kernel's that are read here. */
struct sk_buff {
	struct sk_buff *next;
	char cb[48]; /* struct softsai_handed */
	unsigned int len, data_len;
	int skb_iif;
	unsigned char *head, *data;
	__u16 network_header;
} CORE;

struct netdev_queue {
	struct net_device *dev;
} CORE;

struct qdisc_skb_head {
	__u32 qlen;
} CORE;

struct gnet_stats_queue {
	__u32 backlog;
	__u32 requeues;
} CORE;

struct Qdisc {
	__u32 handle;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} CORE;

/* The namespace of the ports. */
const volatile __u64 softsai_netns;

/* The line of the qdisc's port; NULL: another's. */
static __always_inline struct softsai_line *ours(struct Qdisc *qdisc, __u32 *number)
{
	struct net_device *dev;

	if (qdisc->handle != SOFTSAI_HTB)
		return NULL;
	dev = qdisc->dev_queue->dev;
	if (dev->nd_net.net->net_cookie != softsai_netns)
		return NULL;
	return line_of(dev->ifindex, number);
}

#define UNEVEN_EMPTY 64 /* times that a port is empty until its queues are set equal though no call seems missed */

/*
 * The port is empty: whatever was counted in it is over. Where no call was missed the queues
 * have let out all that went in.
 */
static __always_inline void emptied(struct softsai_line *line, struct Qdisc *qdisc)
{
	line->requeues = qdisc->qstats.requeues;
	if (++line->epoch % UNEVEN_EMPTY && !line->backlog && !line->uneven)
		return;
	line->backlog = 0;
	line->uneven = 0;
	for (int i = 0; i < SOFTSAI_QUEUES; i++)
		line->out[i] = line->in[i];
}

/* The first packet since flows have slots. */
static __always_inline void start(struct softsai_line *line, struct Qdisc *qdisc)
{
	if (line->started)
		return;
	line->requeues = qdisc->qstats.requeues;
	line->started = 1;
}

/*
 * Octets that missed calls took into the queue or out of it, so that the count is the kernel's.
 * Only while no refused packets wait, which the kernel counts again.
 */
static __always_inline void mend(struct softsai_line *line, struct Qdisc *qdisc, __u32 queue)
{
	__u64 backlog = qdisc->qstats.backlog;

	if (backlog == line->backlog || qdisc->qstats.requeues != line->requeues)
		return;
	line->out[queue] += line->backlog - backlog;
	line->backlog = backlog;
	line->uneven = 1;
	line->missed++;
}

static __always_inline void tell(struct sk_buff *skb, struct softsai_slot *s, struct softsai_line *line, __u64 octets,
				 __u32 arrival, __u32 mark, __u64 now)
{
	struct softsai_event *e = raise(s, octets, line->ifindex, arrival, mark, now);
	unsigned char *at;
	__u32 linear, n = SOFTSAI_EVENT_HEAD;

	if (!e)
		return;
	at = BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, network_header);
	e->packet = BPF_CORE_READ(skb, len) - (__u32)(at - BPF_CORE_READ(skb, data));
	linear = e->packet - BPF_CORE_READ(skb, data_len);
	if (linear < n)
		n = linear;
	if (n && !bpf_probe_read_kernel(e->head, n, at))
		e->length = n;
	bpf_ringbuf_submit(e, 0);
	told(s, mark, now);
}

/* The data of the egress program, without a call: a return costs 5 ns where the kernel guards it. */
static __always_inline struct softsai_handed handed(struct sk_buff *skb)
{
	const struct softsai_handed *h = (const void *)skb->cb;
	struct softsai_handed copy = { .length = h->length, .digest = h->digest, .flags = h->flags };

	return copy;
}

SEC("tp_btf/qdisc_enqueue")
int softsai_enqueue(__u64 *args) /* qdisc, netdev queue, packet */
{
	struct Qdisc *qdisc = (void *)args[0];
	struct sk_buff *skb = (void *)args[2];
	struct softsai_handed h;
	struct softsai_line *line;
	struct softsai_slot *s;
	__u32 number, at, queue, mark;
	__u64 now = 0;

	if (SOFTSAI_EMPTY)
		return 0;
	line = ours(qdisc, &number);
	if (!line || !line->watch || dropped())
		return 0;
	h = handed(skb);
	start(line, qdisc);
	if (qdisc->qstats.backlog == h.length && line->backlog)
		emptied(line, qdisc);
	queue = h.flags & (SOFTSAI_QUEUES - 1);
	line->moved++;
	line->in[queue] += h.length;
	line->backlog += h.length;
	mend(line, qdisc, queue);
	if (!h.digest)
		return 0;
	s = find_slot(h.digest, &at);
	if (!s)
		s = claim_slot(h.digest, number, queue, &at);
	if (!s) {
		struct softsai_counts *c = counts();

		if (c)
			__sync_fetch_and_add(&c->unmonitored, 1);
		return 0;
	}
	if (s->octets && over(s, line))
		s->octets = 0;
	if (!s->octets && !s->held && !(h.flags & SOFTSAI_HANDED_RELEASED)) {
		s->departed = 0;
		s->above = 0;
	}
	if (!(h.flags & SOFTSAI_HANDED_RELEASED))
		s->in_port = skb->skb_iif;
	s->epoch = line->epoch + line->cleared;
	s->position = line->in[queue];
	s->octets += h.length;
	use(at);
	mark = passed(s, line, queue, s->octets + s->held, &now);
	if (mark != MARK_NONE)
		tell(skb, s, line, s->octets + s->held, h.flags >> SOFTSAI_ARRIVAL_SHIFT & SOFTSAI_ARRIVAL_MASK, mark,
		     now);
	return 0;
}

static __always_inline void leave(struct sk_buff *skb, const struct softsai_handed *h, struct softsai_line *line)
{
	struct softsai_slot *s;
	__u32 at, queue = h->flags & (SOFTSAI_QUEUES - 1), mark;
	__u64 now = 0;

	line->moved++;
	line->out[queue] += h->length;
	line->backlog -= h->length;
	if (line->out[queue] <= line->since[queue])
		return;
	s = h->digest ? find_slot(h->digest, &at) : NULL;
	if (!s)
		return;
	s->departed += h->length;
	s->octets = s->octets < h->length || over(s, line) ? 0 : s->octets - h->length;
	mark = passed(s, line, queue, s->octets + s->held, &now);
	/*
	 * The place of its arrival may be another flow's by now. So the high mark is repeated by
	 * packets that come alone: two that leave and come at one rate would let those that leave
	 * always be first, and a flow that comes by another port since would never be seen there.
	 */
	if (mark != MARK_NONE && !(mark == MARK_HIGH && s->above & SOFTSAI_ABOVE_HIGH))
		tell(skb, s, line, s->octets + s->held, 0, mark, now);
}

/* Packets that leave at once are a list. */
struct leaving {
	struct softsai_line *line;
	struct sk_buff *skb;
};

static long leave_one(__u32 index, struct leaving *l)
{
	struct sk_buff *skb = l->skb;
	struct softsai_handed h;

	(void)index;
	if (!skb || !l->line)
		return 1;
	l->skb = BPF_CORE_READ(skb, next);
	bpf_core_read(&h, sizeof(h), &skb->cb);
	leave(skb, &h, l->line);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int softsai_dequeue(__u64 *args) /* qdisc, netdev queue, number of packets, the first of them */
{
	struct Qdisc *qdisc = (void *)args[0];
	struct sk_buff *skb = (void *)args[3];
	struct leaving l = { .skb = skb };
	struct softsai_handed h;
	__u32 number;

	if (SOFTSAI_EMPTY || !skb)
		return 0;
	l.line = ours(qdisc, &number);
	if (!l.line || !l.line->watch || dropped())
		return 0;
	start(l.line, qdisc);
	if (qdisc->qstats.requeues != l.line->requeues) {
		l.line->requeues++; /* it came out before; each refused packet comes out alone */
	} else if ((int)args[2] == 1) {
		h = handed(skb);
		leave(skb, &h, l.line);
	} else {
		bpf_loop((int)args[2], leave_one, &l, 0);
	}
	if (qdisc->q.qlen == 0)
		emptied(l.line, qdisc);
	return 0;
}

#endif
