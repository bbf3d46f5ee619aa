/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * ECMP by the destination queue pair. The kernel's multipath hash does not know
 * the BTH, so the route is looked up with a flow label and a source port that
 * are made of what shall count; whichever of the two the kernel's hash policy
 * takes, the queue pair is in it. The packet itself keeps its own. What is not
 * plain forwarding (local, too large, hop limit at its end, hop-by-hop options,
 * no route) goes to the kernel, which answers as ever.
 */
#ifndef SOFTSAI_STEER_H
#define SOFTSAI_STEER_H

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

static __always_inline int steer(struct __sk_buff *skb, struct packet *p, struct softsai_port *port)
{
	bool v6 = p->key.valid & SOFTSAI_V6;
	struct softsai_steer *by = v6 ? &port->steer6 : &port->steer4;
	__u32 h, csum, before;
	struct bpf_redir_neigh next = {};
	struct bpf_fib_lookup fib = {};
	__u8 *ip;

	if (!by->bth || (p->key.valid & (SOFTSAI_BTH | SOFTSAI_TUNNEL)) != SOFTSAI_BTH || p->hop ||
	    skb->pkt_type != 0 || skb->gso_segs)
		return TC_ACT_UNSPEC;
	ip = octets(skb, p, p->ip, v6 ? 40 : 20);
	if (!ip)
		return TC_ACT_UNSPEC;

	h = mix(bpf_ntohl(p->key.bth) & by->bth);
	h = mix(h ^ (p->key.label & by->label));
	h = mix(h ^ (p->key.sport & by->sport));
	fib.l4_protocol = PROTO_UDP;
	fib.sport = h >> 16 ^ h;
	fib.dport = p->key.dport;
	fib.ifindex = skb->ifindex;
	if (v6) {
		if (ip[7] <= 1 || ip[24] == 0xff || (ip[8] == 0xfe && (ip[9] & 0xc0) == 0x80))
			return TC_ACT_UNSPEC;
		fib.family = FAMILY_INET6;
		fib.tot_len = 40 + u16_at(ip + 4);
		fib.flowinfo = bpf_htonl((__u32)p->key.dscp << 22 | (h & 0xfffff));
		copy_address((__u8 *)fib.ipv6_src, ip + 8);
		copy_address((__u8 *)fib.ipv6_dst, ip + 24);
	} else {
		if (ip[8] <= 1 || (ip[0] & 0xf) != 5 || (ip[16] & 0xf0) == 0xe0)
			return TC_ACT_UNSPEC;
		fib.family = FAMILY_INET;
		fib.tot_len = u16_at(ip + 2);
		fib.tos = p->key.dscp << 2;
		fib.ipv4_src = *(__be32 *)(ip + 12);
		fib.ipv4_dst = *(__be32 *)(ip + 16);
	}
	if (bpf_fib_lookup(skb, &fib, sizeof(fib), FIB_SKIP_NEIGH) != BPF_FIB_LKUP_RET_SUCCESS)
		return TC_ACT_UNSPEC;
	if (fib.ifindex == skb->ifindex) /* the kernel sends a redirect */
		return TC_ACT_UNSPEC;

	ip = octets(skb, p, p->ip, 20);
	if (!ip)
		return TC_ACT_UNSPEC;
	if (v6) {
		before = *(__be32 *)(ip + 4);
		ip[7]--;
		bpf_csum_update(skb, csum_of_change(before, *(__be32 *)(ip + 4)));
	} else {
		ip[8]--; /* the header's sum stays 0, and so the packet's (RFC 1624) */
		csum = u16_at(ip + 10) + 0x100;
		*(__be16 *)(ip + 10) = bpf_htons((csum & 0xffff) + (csum >> 16));
	}
	/* The FIB leaves the next hop's address in dst; IPv4 may go by an IPv6 one. */
	next.nh_family = fib.family;
	if (fib.family == FAMILY_INET6)
		__builtin_memcpy(next.ipv6_nh, fib.ipv6_dst, 16);
	else
		next.ipv4_nh = fib.ipv4_dst;
	return bpf_redirect_neigh(fib.ifindex, &next, sizeof(next), 0);
}

#endif
