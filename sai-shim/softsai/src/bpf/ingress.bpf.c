// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The ingress pipeline of a port, on clsact in direct action: parse, look the
 * ACL up, act, choose the next hop. The kernel forwards all other packets.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "softsai.h"
#include "maps.h"
#include "flows.h"
#include "handover.h"
#include "pause.h"
#include "label.h"
#include "parse.h"
#include "plain.h"
#include "find.h"
#include "police.h"
#include "steer.h"
#include "redirect.h"

/* Ports have queues. */
const volatile __u32 softsai_queues;

/* Counters of a CPU; 0: their map is an earlier library's, and per CPU. */
const volatile __u32 softsai_counters;

/* Flows are watched in a queue: where packets come from is kept for the program at egress. */
__u32 softsai_watching;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SOFTSAI_ARRIVALS);
	__type(key, __u32);
	__type(value, struct softsai_arrival);
} soft_arrivals SEC(".maps");

/* Fills in all but the turn; false: the packet is not IP. */
static __always_inline bool arrival_of(struct __sk_buff *skb, struct softsai_arrival *a)
{
	void *end = (void *)(long)skb->data_end;
	struct ipv6hdr *six = (void *)(long)skb->data + ETH_HLEN;
	struct iphdr *four = (void *)six;

	a->in_port = skb->ifindex;
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && (void *)(six + 1) <= end) {
		a->first = bpf_ntohl(*ipv6_word(six));
		copy_address(a->source, &six->saddr);
		copy_address(a->destination, &six->daddr);
		return true;
	}
	if (skb->protocol == bpf_htons(ETH_P_IP) && (void *)(four + 1) <= end) {
		a->first = 4U << 28 | (__u32)four->tos << 20;
		a->source[0] = four->saddr;
		a->destination[0] = four->daddr;
		a->source[1] = a->destination[1] = 0;
		return true;
	}
	return false;
}

/* Notes the header as it arrives, before anything changes it. */
static __always_inline void arrive(struct __sk_buff *skb)
{
	struct softsai_arrival *a;
	__u32 place = 0, turn;

	a = bpf_map_lookup_elem(&soft_arrivals, &place);
	if (!a)
		return;
	if (!a->known) { /* so that the CPUs are at different places */
		a->turn = bpf_get_prandom_u32();
		a->known = 1;
	}
	turn = a->turn++;
	place = 1 + turn % (SOFTSAI_ARRIVALS - 1);
	a = bpf_map_lookup_elem(&soft_arrivals, &place);
	if (!a || !arrival_of(skb, a))
		return;
	a->turn = turn;
	skb->tc_index = place << SOFTSAI_ARRIVAL_SHIFT;
}

static __always_inline void count(struct softsai_entry *e, __u32 bytes)
{
	__u32 place = bpf_get_smp_processor_id() * softsai_counters + e->counter;
	struct softsai_counter *c = bpf_map_lookup_elem(&soft_counters, &place);

	if (c) {
		c->packets++;
		c->bytes += bytes;
	}
}

/*
 * Writes the 20 bits, and nothing else: no checksum but the device's covers them. The
 * hash takes the final destination of a packet, and of a tunnel the addresses as they
 * arrive.
 */
/* conformance: draft-hu/write */
static __always_inline void write_label(struct __sk_buff *skb, struct packet *p, struct softsai_entry *e)
{
	__u32 label = e->label, tunnel = p->key.valid & SOFTSAI_TUNNEL;
	__u8 *dst = p->key.dst;
	struct ipv6hdr *ip;
	__be32 *word, before;

	if (!p->roce || !(p->key.valid & SOFTSAI_V6) || (tunnel && !(e->actions & SOFTSAI_OUTER)))
		return;
	if (e->actions & SOFTSAI_COMPUTE) {
		if ((e->actions & SOFTSAI_ZERO_ONLY) && p->key.label)
			return;
		if (p->segment && !tunnel) {
			dst = octets(skb, p, p->segment, sizeof(struct in6_addr));
			if (!dst)
				return;
		}
		label = softsai_label(e->algorithm, p->src_qp, bpf_ntohl(p->key.bth) & QP_MASK, p->key.src, dst);
	}
	ip = octets(skb, p, p->ip, sizeof(*ip));
	if (!ip)
		return;
	word = ipv6_word(ip);
	before = *word;
	*word = (before & bpf_htonl(0xfff00000)) | bpf_htonl(label & 0xfffff);
	p->key.label = bpf_htonl(label & 0xfffff);
	bpf_csum_update(skb, csum_of_change(before, *word));
}

static __always_inline void write_dscp(struct __sk_buff *skb, struct packet *p, struct softsai_entry *e)
{
	struct iphdr *four = octets(skb, p, p->ip, sizeof(*four));
	struct ipv6hdr *six = (void *)four;
	__be16 *first = (void *)four, before;
	__u32 sum;

	if (!four)
		return;
	before = *first;
	if (p->key.valid & SOFTSAI_V6) {
		six->priority = e->dscp >> 2;
		six->flow_lbl[0] = (six->flow_lbl[0] & 0x3f) | e->dscp << 6;
		bpf_csum_update(skb, csum_of_change(before, *first));
		return;
	}
	four->tos = (four->tos & 3) | e->dscp << 2;
	sum = (__u16)~four->check;
	sum += (__u16)~before + *first;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	four->check = ~sum; /* RFC 1624; the packet's sum stays as it was */
}

static __always_inline void copy(struct __sk_buff *skb, __u32 trap, __u32 egress)
{
	struct softsai_copy *c;
	__u32 n = skb->len;

	if (!police(0, skb->len)) {
		lose(SOFTSAI_LOST_POLICED);
		return;
	}
	c = bpf_ringbuf_reserve(&soft_cpu, sizeof(*c), 0);
	if (!c) {
		lose(SOFTSAI_LOST_RING);
		return;
	}
	c->ifindex = skb->ifindex;
	c->egress = egress;
	c->trap = trap;
	c->length = n;
	c->at = bpf_ktime_get_ns();
	if (n > SOFTSAI_SNAP)
		n = SOFTSAI_SNAP;
	if (n < 1 || bpf_skb_load_bytes(skb, 0, c->data, n))
		n = 0;
	c->captured = n;
	bpf_ringbuf_submit(c, 0);
}

/*
 * The packet's traffic class, for the program at egress. Without one that takes the
 * DSCP, which is why one that changes here is kept.
 */
static __always_inline void mark(struct __sk_buff *skb, struct packet *p, struct softsai_entry *e)
{
	if (softsai_queues)
		skb->tc_index |= 1 + (e->actions & SOFTSAI_SET_TC ? e->tc : SOFTSAI_QUEUE_OF(p->key.dscp));
}

/* The port's egress program makes the copy short. */
static __always_inline void mirror(struct __sk_buff *skb, struct softsai_entry *e)
{
	__u16 mark = skb->tc_index;

	skb->tc_index = e->truncate ? SOFTSAI_COPY_OF | e->truncate : 0;
	bpf_clone_redirect(skb, e->mirror, 0);
	skb->tc_index = mark;
}

/* Reports whether the packet goes on. */
static __always_inline bool act(struct __sk_buff *skb, struct packet *p, struct softsai_port *port,
				struct softsai_entry *e)
{
	__u32 actions = e->actions;

	if (actions & SOFTSAI_COUNT)
		count(e, p->frame);
	if (actions & (SOFTSAI_COPY | SOFTSAI_SAMPLE | SOFTSAI_POLICE | SOFTSAI_MIRROR)) {
		if (actions & SOFTSAI_POLICE)
			actions |= police_actions(e->policer, p->frame);
		if ((actions & SOFTSAI_SAMPLE) && bpf_get_prandom_u32() % (e->sample ?: 1) == 0)
			actions |= SOFTSAI_COPY;
		if (actions & SOFTSAI_MIRROR)
			mirror(skb, e);
	}
	if (actions & (SOFTSAI_COMPUTE | SOFTSAI_SET_LABEL))
		write_label(skb, p, e);
	if (actions & SOFTSAI_COPY) /* as it leaves: exported as the next hop sees it */
		copy(skb, e->trap, egress_of(skb, p, port, e));
	if (actions & SOFTSAI_DROP)
		return false;
	if (actions & (SOFTSAI_SET_TC | SOFTSAI_SET_DSCP))
		mark(skb, p, e);
	if (actions & SOFTSAI_SET_DSCP)
		write_dscp(skb, p, e);
	return true;
}

SEC("tc")
int softsai_ingress(struct __sk_buff *skb)
{
	struct packet p = { .frame = skb->len };
	struct softsai_entry e = {};
	__u32 ifindex = skb->ifindex;
	struct softsai_port *port;
	struct softsai_hop *hop;

	if (SOFTSAI_EMPTY)
		return TC_ACT_UNSPEC;
	if (softsai_queues && skb->tc_index)
		skb->tc_index = 0; /* of another switch in this machine */
	if (softsai_queues && skb->protocol == bpf_htons(ETH_P_PAUSE))
		return pause_frame(skb);
	if (softsai_queues && softsai_watching)
		arrive(skb);
	port = bpf_map_lookup_elem(&soft_ports, &ifindex);
	if (!port || !(softsai_asic | port->view | port->steer4.bth | port->steer6.bth))
		return TC_ACT_UNSPEC;
	if (!parse_plain(skb, &p)) {
		softsai_parse(skb, &p);
		if (p.cut) {
			__u32 want = skb->len < SOFTSAI_HEADROOM ? skb->len : SOFTSAI_HEADROOM;

			if (bpf_skb_pull_data(skb, want))
				return TC_ACT_UNSPEC;
			__builtin_memset(&p, 0, sizeof(p));
			p.frame = skb->len;
			softsai_parse(skb, &p);
		}
		p.key.in_port = ifindex;
	}
	if (find(port->view - 1, &p.key, &e) && !act(skb, &p, port, &e))
		return TC_ACT_SHOT;
	hop = hop_of(&e);
	return hop ? redirect(skb, &p, hop) : steer(skb, &p, port);
}

char LICENSE[] SEC("license") = "GPL";
