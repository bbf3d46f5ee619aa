// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The egress pipeline of a port, on clsact before HTB sees the packet: cuts copies that a
 * mirror session makes short, chooses the queue, names the flow, and holds packets that are to
 * wait.
 * Beside it the tracepoints that count flows in queues.
 *
 * The queue is that of the traffic class which the ingress program left in tc_index, else
 * that of the DSCP. HTB takes a priority that is the handle of one of its classes for the
 * packet's class. Routing sets the priority of packets, so it is set here and not at ingress.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "softsai.h"
#include "flows.h"
#include "handover.h"
#include "label.h"
#include "parse.h"
#include "slots.h"
#include "hold.h"
#include "flow.h"
#include "watch.h"

/* Ports have queues. */
const volatile __u32 softsai_queues;

/* The queue by DSCP; other packets than IP go into queue 0. */
static __always_inline __u32 by_dscp(struct __sk_buff *skb)
{
	struct ipv6hdr *six = (void *)(long)skb->data + sizeof(struct ethhdr);
	union {
		struct iphdr four;
		struct ipv6hdr six;
	} ip;

	if (skb->protocol == bpf_htons(ETH_P_IPV6) && (void *)(six + 1) <= (void *)(long)skb->data_end)
		return SOFTSAI_QUEUE_OF(ipv6_dscp(six)); /* mostly; without a call */
	if (skb->protocol == bpf_htons(ETH_P_IP) &&
	    !bpf_skb_load_bytes_relative(skb, 0, &ip.four, sizeof(ip.four), BPF_HDR_START_NET))
		return SOFTSAI_QUEUE_OF(ip.four.tos >> 2);
	if (skb->protocol == bpf_htons(ETH_P_IPV6) &&
	    !bpf_skb_load_bytes_relative(skb, 0, &ip.six, sizeof(ip.six), BPF_HDR_START_NET))
		return SOFTSAI_QUEUE_OF(ipv6_dscp(&ip.six));
	return 0;
}

/* A packet on its way out. */
struct leaver {
	__u64 digest;
	__u32 queue;
	__u32 arrival; /* place of its struct softsai_arrival; 0: it has none */
	__u32 stage;   /* the first that it meets */
	bool released;
};

/* A packet of the thread of holds carries its former state. */
static __always_inline bool from_hold_queue(struct __sk_buff *skb, struct leaver *l)
{
	__u32 mark = skb->mark;

	if ((mark & SOFTSAI_RELEASED_MASK) != SOFTSAI_RELEASED || bpf_get_socket_cookie(skb) != softsai_hold_cookie)
		return false;
	l->queue = mark & (SOFTSAI_QUEUES - 1);
	l->stage = (mark >> SOFTSAI_RELEASED_STAGE_SHIFT & 0xf) + 1;
	l->released = true;
	skb->mark = 0;
	return true;
}

/* A packet that left a hold queue as nothing could be held: others have passed it. */
static __always_inline int drop_stale(void)
{
	struct softsai_counts *c = counts();

	if (c)
		__sync_fetch_and_add(&c->hold_queue_stale, 1);
	return TC_ACT_SHOT;
}

/* Raises the mark that a flow has passed with these octets, with the head of the packet. */
static __always_inline void raise_mark(struct __sk_buff *skb, const struct leaver *l, struct softsai_slot *s,
				       const struct softsai_line *line, __u64 octets)
{
	struct softsai_event *e;
	__u32 mark, n;
	__u64 now = 0;

	mark = passed(s, line, l->queue, octets, &now);
	if (mark == MARK_NONE)
		return;
	e = raise(s, octets, line->ifindex, l->arrival, mark, now);
	if (!e)
		return;
	n = e->packet = skb->len - ETH_HLEN;
	if (n > SOFTSAI_EVENT_HEAD)
		n = SOFTSAI_EVENT_HEAD;
	if (n >= 1 && n <= SOFTSAI_EVENT_HEAD && !bpf_skb_load_bytes(skb, ETH_HLEN, e->head, n))
		e->length = n;
	bpf_ringbuf_submit(e, 0);
	told(s, mark, now);
}

/* The flow's slot, claimed where it has none; NULL: there is no room. */
static __always_inline struct softsai_slot *slot_of(struct __sk_buff *skb, const struct leaver *l, __u32 number,
						    __u32 *at)
{
	struct softsai_slot *s = find_slot(l->digest, at);

	if (!s)
		s = claim_slot(l->digest, number, l->queue, at);
	if (s && !l->released)
		s->in_port = skb->ingress_ifindex;
	return s;
}

/*
 * Adds octets to those that the flow has in a hold queue, until the thread of holds subtracts
 * them. Returns its slot.
 */
static __always_inline __u32 hold_octets(struct __sk_buff *skb, struct leaver *l, struct softsai_line *line,
					 __u32 number, __u32 octets)
{
	struct softsai_slot *s;
	__u32 at;

	if (!l->digest)
		return SOFTSAI_SLOTS;
	s = slot_of(skb, l, number, &at);
	if (!s)
		return SOFTSAI_SLOTS;
	__sync_fetch_and_add(&s->held, octets);
	use(at);
	raise_mark(skb, l, s, line, (over(s, line) ? 0 : s->octets) + s->held);
	return at;
}

/*
 * The queue has no room for the packet, which the tracepoints do not see then. It counts as if it
 * had come in: a flow of which a full queue takes nothing would never reach a mark.
 */
static __always_inline void refused(struct __sk_buff *skb, struct leaver *l, struct softsai_line *line, __u32 number)
{
	struct softsai_slot *s;
	__u32 at;

	s = slot_of(skb, l, number, &at);
	if (s)
		raise_mark(skb, l, s, line, (over(s, line) ? 0 : s->octets) + s->held + skb->wire_len);
}

/* Holds the packet at the first stage that has a hold for it: TC_ACT_UNSPEC: none has. */
__noinline int softsai_meet_holds(struct __sk_buff *skb, struct leaver *l, const struct flow *f,
				  struct softsai_line *line, __u32 number)
{
	__u32 place = SOFTSAI_HOLD_TAP, guard = SOFTSAI_HOLD_GUARD, stages, *tap, *found, hold, generation, verdict,
	      packets = skb->gso_segs ?: 1;
	struct softsai_hold_head head = { .type = bpf_htons(SOFTSAI_HOLD_TYPE) };
	struct softsai_hold *h;

	if (!l || !f || !line)
		return TC_ACT_UNSPEC;
	head.ifindex = line->ifindex;
	stages = line->stages;
	tap = bpf_map_lookup_elem(&soft_hold_taps, &place);
	if (!tap || !bpf_map_lookup_elem(&soft_hold_taps, &guard))
		return TC_ACT_UNSPEC;
	for (__u32 stage = 0; stage < SOFTSAI_STAGES; stage++) {
		struct softsai_match m = { .ifindex = stage & 1 ? 0 : line->ifindex };

		if (stage < l->stage || !(stages >> stage & 1) || !match_of(f, stage / 2, l->queue, &m))
			continue;
		found = find_hold(&m);
		if (!found)
			continue;
		generation = SOFTSAI_HOLD_GENERATION(*found);
		hold = SOFTSAI_HOLD_NUMBER(*found);
		h = bpf_map_lookup_elem(&soft_holds, &hold);
		if (!h)
			continue;
		verdict = held(h, tap, generation, skb->wire_len, packets);
		if (verdict == HOLD_COUNTS && skb->wire_len > room_left(line, l->queue))
			__sync_fetch_and_add(&h->dropped, packets);
		if (verdict == HOLD_NOT || verdict == HOLD_COUNTS)
			continue;
		if (verdict == HOLD_FULL)
			return TC_ACT_SHOT;
		head.slot = hold_octets(skb, l, line, number, skb->wire_len);
		head.queue = l->queue;
		head.stage = stage;
		return into_hold_queue(skb, *tap, hold, &head);
	}
	return TC_ACT_UNSPEC;
}

SEC("tc")
int softsai_egress(struct __sk_buff *skb)
{
	__u32 mark = skb->tc_index, number;
	struct leaver l = {};
	struct softsai_line *line;
	struct flow f = {};
	int verdict;

	if (SOFTSAI_EMPTY)
		return TC_ACT_UNSPEC;
	if (mark & SOFTSAI_COPY_OF) {
		if (skb->len > (mark & SOFTSAI_MAX_COPY))
			bpf_skb_change_tail(skb, mark & SOFTSAI_MAX_COPY, 0);
		mark = skb->tc_index = 0;
	}
	if (!softsai_queues)
		return TC_ACT_UNSPEC;
	if (!skb->mark || !from_hold_queue(skb, &l)) {
		l.queue = (mark & SOFTSAI_TC_MASK) - 1;
		if (l.queue >= SOFTSAI_QUEUES)
			l.queue = by_dscp(skb);
		l.arrival = mark >> SOFTSAI_ARRIVAL_SHIFT & SOFTSAI_ARRIVAL_MASK;
	} else if (cannot_hold()) {
		return drop_stale();
	}
	skb->priority = SOFTSAI_CLASS(l.queue);
	line = line_of(skb->ifindex, &number);
	if (line && line->watch) {
		flow_of(skb, &f);
		if (f.ipv6 < 2)
			l.digest = flow_digest(&f, skb->ifindex, l.queue);
		if (line->stages >> l.stage) {
			verdict = softsai_meet_holds(skb, &l, &f, line, number);
			if (verdict != TC_ACT_UNSPEC)
				return verdict;
		}
		if (l.digest && skb->wire_len > room_left(line, l.queue))
			refused(skb, &l, line, number);
	}
	skb->cb[0] = l.digest;
	skb->cb[1] = l.digest >> 32;
	skb->cb[2] = l.queue | l.arrival << SOFTSAI_ARRIVAL_SHIFT | (l.released ? SOFTSAI_HANDED_RELEASED : 0);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
