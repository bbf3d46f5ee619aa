/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * ECMP by the destination queue pair. The kernel's multipath hash does not include
 * the BTH, so the route is looked up with a flow label and a source port that
 * contain a hash of the queue pair: the kernel's hash policy takes one of the two.
 * The packet itself keeps its own. Other packets than plainly forwarded ones (local,
 * too large, hop limit 1, hop-by-hop options, no route) go to the kernel, which
 * handles them as without steering.
 */
#ifndef SOFTSAI_STEER_H
#define SOFTSAI_STEER_H

#include <linux/if_packet.h>
#include <linux/pkt_cls.h>

#include "parse.h"
#include "police.h"

#define FAMILY_INET 2
#define FAMILY_INET6 10
#define FIB_SKIP_NEIGH (1U << 2) /* BPF_FIB_LOOKUP_SKIP_NEIGH, Linux 6.3 */

/* The 32-bit finalizer of MurmurHash3 (Austin Appleby, public domain). */
static __always_inline __u32 mix(__u32 h)
{
	h ^= h >> 16;
	h *= 0x85ebca6b;
	h ^= h >> 13;
	h *= 0xc2b2ae35;
	return h ^ h >> 16;
}

static __always_inline bool is_multicast(const struct in6_addr *a)
{
	return a->s6_addr[0] == 0xff;
}

static __always_inline bool is_link_local(const struct in6_addr *a)
{
	return a->s6_addr[0] == 0xfe && (a->s6_addr[1] & 0xc0) == 0x80;
}

/* All that is forwarded plainly has its next hop from here: so samples can have the port. */
const volatile __u32 softsai_asic;

/* Whether ECMP goes by the destination queue pair, and so by a hash of the software switch. */
static __always_inline bool steered(const struct packet *p, const struct softsai_steer *by)
{
	return by->bth && (p->key.valid & (SOFTSAI_BTH | SOFTSAI_TUNNEL)) == SOFTSAI_BTH;
}

/* Whether the next hop of a packet is looked up here, and not by the kernel. */
static __always_inline bool routes(const struct packet *p, const struct softsai_port *port)
{
	return (softsai_asic && (p->key.valid & SOFTSAI_L4)) ||
	       steered(p, p->key.valid & SOFTSAI_V6 ? &port->steer6 : &port->steer4);
}

/*
 * Looks up the route of a packet. Reports whether it is plainly forwarded: packets that the
 * kernel handles otherwise have no next hop here.
 */
static __always_inline bool route(struct __sk_buff *skb, struct packet *p, struct softsai_port *port,
				  struct bpf_fib_lookup *fib)
{
	bool v6 = p->key.valid & SOFTSAI_V6;
	struct softsai_steer *by = v6 ? &port->steer6 : &port->steer4;
	struct ipv6hdr *six;
	struct iphdr *four;
	__u32 h, label;

	six = octets(skb, p, p->ip, v6 ? sizeof(*six) : sizeof(*four));
	if (!six)
		return false;
	four = (void *)six;

	fib->l4_protocol = p->key.proto;
	fib->sport = p->key.sport;
	fib->dport = p->key.dport;
	label = bpf_ntohl(p->key.label);
	if (steered(p, by)) {
		h = mix(bpf_ntohl(p->key.bth) & by->bth);
		h = mix(h ^ (p->key.label & by->label));
		h = mix(h ^ (p->key.sport & by->sport));
		fib->sport = h >> 16 ^ h;
		label = h & 0xfffff;
	}
	fib->ifindex = skb->ifindex;
	if (v6) {
		if (six->hop_limit <= 1 || is_multicast(&six->daddr) || is_link_local(&six->saddr))
			return false;
		fib->family = FAMILY_INET6;
		fib->tot_len = sizeof(*six) + bpf_ntohs(six->payload_len);
		fib->flowinfo = bpf_htonl((__u32)p->key.dscp << 22 | label);
		copy_address(fib->ipv6_src, &six->saddr);
		copy_address(fib->ipv6_dst, &six->daddr);
	} else {
		if (four->ttl <= 1 || four->ihl != 5 || (four->daddr & bpf_htonl(0xf0000000)) == bpf_htonl(0xe0000000))
			return false;
		fib->family = FAMILY_INET;
		fib->tot_len = bpf_ntohs(four->tot_len);
		fib->tos = p->key.dscp << 2;
		fib->ipv4_src = four->saddr;
		fib->ipv4_dst = four->daddr;
	}
	return bpf_fib_lookup(skb, fib, sizeof(*fib), FIB_SKIP_NEIGH) == BPF_FIB_LKUP_RET_SUCCESS;
}

/* Sends a packet to a next hop, as the kernel forwards: one hop less to live. */
static __always_inline int forward(struct __sk_buff *skb, struct packet *p, __u32 ifindex, struct bpf_redir_neigh *next)
{
	bool v6 = p->key.valid & SOFTSAI_V6;
	struct iphdr *four = octets(skb, p, p->ip, v6 ? sizeof(struct ipv6hdr) : sizeof(*four));
	struct ipv6hdr *six = (void *)four;
	__be32 *word, before;
	__u32 csum;

	if (!four)
		return TC_ACT_UNSPEC;
	if (v6) {
		word = (void *)&six->payload_len; /* and next header, hop limit */
		before = *word;
		six->hop_limit--;
		bpf_csum_update(skb, csum_of_change(before, *word));
	} else {
		four->ttl--; /* the header's sum stays 0, and so the packet's (RFC 1624) */
		csum = bpf_ntohs(four->check) + 0x100;
		four->check = bpf_htons((csum & 0xffff) + (csum >> 16));
	}
	return bpf_redirect_neigh(ifindex, next, sizeof(*next), 0);
}

static __always_inline int steer(struct __sk_buff *skb, struct packet *p, struct softsai_port *port)
{
	struct bpf_redir_neigh next = {};
	struct bpf_fib_lookup fib = {};

	if (!routes(p, port) || p->hop || skb->pkt_type != PACKET_HOST || skb->gso_segs)
		return TC_ACT_UNSPEC;
	if (!route(skb, p, port, &fib) || fib.ifindex == skb->ifindex) /* there the kernel sends a redirect */
		return TC_ACT_UNSPEC;
	/* The FIB leaves the next hop's address in dst; IPv4 may go by an IPv6 one. */
	next.nh_family = fib.family;
	if (fib.family == FAMILY_INET6)
		__builtin_memcpy(next.ipv6_nh, fib.ipv6_dst, sizeof(next.ipv6_nh));
	else
		next.ipv4_nh = fib.ipv4_dst;
	return forward(skb, p, fib.ifindex, &next);
}

#endif
