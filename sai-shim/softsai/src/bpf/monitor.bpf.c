// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The octets of each watched flow in each queue: what enters the root qdiscs of our
 * ports less what leaves them. Both happen under the qdisc's lock, so a count has one
 * writer. The packet says its flow in tc_index and its queue in priority.
 *
 * A packet that HTB drops on the way in is not counted. One that the netdev refuses
 * comes out twice, and those that a reset throws away never: so a count does not go
 * below 0, and is 0 whenever the port's queues are empty.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "monitor.h"
#include "queues.h"

#define CORE __attribute__((preserve_access_index))

/* Of the kernel's, what is read here. */
struct sk_buff {
	struct sk_buff *next;
	char cb[48]; /* begins with the length that qdiscs count */
	__u32 priority;
	__u16 tc_index;
} CORE;

struct net {
	__u64 net_cookie;
} CORE;

typedef struct {
	struct net *net;
} CORE possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} CORE;

struct netdev_queue {
	struct net_device *dev;
} CORE;

struct qdisc_skb_head {
	__u32 qlen;
} CORE;

struct Qdisc {
	__u32 handle;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head q;
} CORE;

/* The namespace of our ports. */
const volatile __u64 softsai_netns;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOFTSAI_FLOWS);
	__type(key, __u32);
	__type(value, struct softsai_marks);
} soft_marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SOFTSAI_OCCUPANCIES);
	__type(key, struct softsai_occupied);
	__type(value, struct softsai_occupancy);
} soft_occupied SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} soft_passed SEC(".maps");

static __always_inline void pass(struct softsai_occupied *where, __u64 octets, bool high)
{
	struct softsai_passed p = { .where = *where, .octets = octets, .high = high };

	bpf_ringbuf_output(&soft_passed, &p, sizeof(p), 0);
}

/* Whether the qdisc is of a port of ours, and which. */
static __always_inline bool ours(struct Qdisc *qdisc, __u32 *ifindex)
{
	struct net_device *dev;

	if (qdisc->handle != SOFTSAI_HTB)
		return false;
	dev = qdisc->dev_queue->dev;
	*ifindex = dev->ifindex;
	return dev->nd_net.net->net_cookie == softsai_netns;
}

/* The flow and queue of a packet; false where nobody watches it. */
static __always_inline bool flow_of(struct sk_buff *skb, struct softsai_occupied *where, struct softsai_marks **marks)
{
	__u32 flow = (BPF_CORE_READ(skb, tc_index) & ~SOFTSAI_COPY_OF) >> SOFTSAI_FLOW_SHIFT;

	if (!flow)
		return false;
	where->flow = flow;
	where->queue = BPF_CORE_READ(skb, priority) - SOFTSAI_CLASS(0);
	*marks = bpf_map_lookup_elem(&soft_marks, &flow);
	return *marks && (*marks)->high;
}

static __always_inline __u32 length_of(struct sk_buff *skb)
{
	__u32 octets = 0;

	bpf_core_read(&octets, sizeof(octets), &skb->cb);
	return octets;
}

SEC("tp_btf/qdisc_enqueue")
int softsai_enqueue(__u64 *args) /* qdisc, netdev queue, packet */
{
	struct Qdisc *qdisc = (void *)args[0];
	struct sk_buff *skb = (void *)args[2];
	struct softsai_occupancy new = {}, *o;
	struct softsai_occupied where = {};
	struct softsai_marks *marks;

	if (!ours(qdisc, &where.ifindex) || !flow_of(skb, &where, &marks))
		return 0;
	o = bpf_map_lookup_elem(&soft_occupied, &where);
	if (!o) {
		bpf_map_update_elem(&soft_occupied, &where, &new, BPF_NOEXIST);
		o = bpf_map_lookup_elem(&soft_occupied, &where);
	}
	if (!o)
		return 0;
	o->octets += length_of(skb);
	if (!o->above && o->octets > marks->high) {
		o->above = 1;
		pass(&where, o->octets, true);
	}
	return 0;
}

/* Packets that leave at once are a list. */
struct leaving {
	struct softsai_occupied where;
	struct sk_buff *skb;
	bool empty; /* no packet is left behind them */
};

static long leave(__u32 index, struct leaving *l)
{
	struct softsai_occupancy *o;
	struct softsai_marks *marks;
	struct sk_buff *skb = l->skb;
	__u64 octets;

	(void)index;
	if (!skb)
		return 1;
	l->skb = BPF_CORE_READ(skb, next);
	if (!flow_of(skb, &l->where, &marks))
		return 0;
	o = bpf_map_lookup_elem(&soft_occupied, &l->where);
	if (!o)
		return 0;
	octets = length_of(skb);
	o->octets = (l->empty && !l->skb) || o->octets < octets ? 0 : o->octets - octets;
	if (o->above && o->octets < marks->low) {
		o->above = 0;
		pass(&l->where, o->octets, false);
	}
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int softsai_dequeue(__u64 *args) /* qdisc, netdev queue, number of packets, the first of them */
{
	struct Qdisc *qdisc = (void *)args[0];
	struct leaving l = { .skb = (void *)args[3] };

	if (!l.skb || !ours(qdisc, &l.where.ifindex))
		return 0;
	l.empty = qdisc->q.qlen == 0;
	bpf_loop((int)args[2], leave, &l, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
