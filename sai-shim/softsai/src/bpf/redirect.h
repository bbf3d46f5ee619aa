/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The action REDIRECT: a packet goes to the next hop of its entry, past routes and ECMP. A port
 * without a carrier drops it, as on an ASIC.
 */
#ifndef SOFTSAI_REDIRECT_H
#define SOFTSAI_REDIRECT_H

#include "maps.h"
#include "steer.h"

static __always_inline struct softsai_hop *hop_of(struct softsai_entry *e)
{
	struct softsai_hop *hop;

	if (!(e->actions & SOFTSAI_REDIRECT))
		return NULL;
	hop = bpf_map_lookup_elem(&soft_hops, &e->hop);
	return hop && hop->ifindex ? hop : NULL;
}

/* The port that a packet is going to leave by; 0: it is not forwarded, or the kernel chooses. */
static __always_inline __u32 egress_of(struct __sk_buff *skb, struct packet *p, struct softsai_port *port,
				       struct softsai_entry *e)
{
	struct softsai_hop *hop = hop_of(e);
	struct bpf_fib_lookup fib = {};

	if (hop)
		return hop->ifindex;
	return softsai_asic && route(skb, p, port, &fib) ? fib.ifindex : 0;
}

/* Packets to the switch itself, and those at the end of their life, are the kernel's. */
static __always_inline bool redirects(struct __sk_buff *skb, struct packet *p)
{
	bool v6 = p->key.valid & SOFTSAI_V6;
	struct ipv6hdr *six;
	struct iphdr *four;

	if (skb->pkt_type != PACKET_HOST || p->hop)
		return false;
	four = octets(skb, p, p->ip, v6 ? sizeof(*six) : sizeof(*four));
	six = (void *)four;
	if (!four)
		return false;
	return v6 ? six->hop_limit > 1 : four->ttl > 1;
}

static __always_inline int redirect(struct __sk_buff *skb, struct packet *p, struct softsai_hop *hop)
{
	struct bpf_redir_neigh next = { .nh_family = hop->family };

	if (!redirects(skb, p))
		return TC_ACT_UNSPEC;
	if (hop->family == FAMILY_INET6)
		__builtin_memcpy(next.ipv6_nh, hop->address, sizeof(next.ipv6_nh));
	else
		__builtin_memcpy(&next.ipv4_nh, hop->address, sizeof(next.ipv4_nh));
	return forward(skb, p, hop->ifindex, &next);
}

#endif
