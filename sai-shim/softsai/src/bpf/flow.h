/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Which flow a packet that leaves is of. */
#ifndef SOFTSAI_FLOW_H
#define SOFTSAI_FLOW_H

#include "hold.h"
#include "parse.h"

#define FLOW_SEEDS 7

const volatile __u64 softsai_flow_seed[FLOW_SEEDS]; /* secret, so that senders cannot make flows meet in one digest */

__u32 softsai_five_tuple; /* SAI_SWITCH_ATTR_FLOW_KEY */

/* The session's addresses, where they differ from those of the outermost header. */
static __always_inline void flow_inside(struct __sk_buff *skb, struct packet *p, struct flow *f)
{
	__u32 source = p->session + (p->session_v6 ? offsetof(struct ipv6hdr, saddr) : offsetof(struct iphdr, saddr));

	if (p->session == p->ip && !p->segment)
		return;
	f->inside_v6 = p->session_v6;
	if (p->session_v6)
		f->inside = !bpf_skb_load_bytes(skb, source, f->from, sizeof(struct in6_addr)) &&
			    !bpf_skb_load_bytes(skb, p->final, f->to, sizeof(struct in6_addr));
	else
		f->inside = !bpf_skb_load_bytes(skb, source, f->from, sizeof(__be32)) &&
			    !bpf_skb_load_bytes(skb, p->final, f->to, sizeof(__be32));
}

/* Ports, queue pair and session, wherever the headers are. Not static: as softsai_parse. */
__noinline int softsai_flow_behind(struct __sk_buff *skb, struct flow *f)
{
	struct packet p = { .frame = skb->len };

	if (!f)
		return 0;
	softsai_parse(skb, &p);
	if (p.cut) {
		__u32 want = skb->len < SOFTSAI_HEADROOM ? skb->len : SOFTSAI_HEADROOM;

		if (bpf_skb_pull_data(skb, want))
			return 0;
		__builtin_memset(&p, 0, sizeof(p));
		p.frame = skb->len;
		softsai_parse(skb, &p);
	}
	f->proto = p.key.proto;
	f->carries = p.session_proto;
	f->ports = p.session_ports;
	if (p.key.valid & SOFTSAI_BTH)
		f->qp = bpf_ntohl(p.key.bth) & QP_MASK;
	flow_inside(skb, &p, f);
	return 0;
}

/* UDP and BTH, in the common packet directly after IP. */
struct roce {
	struct udphdr udp;
	struct bth bth;
};

/* The common packet: to the port of RoCEv2. */
static __always_inline bool flow_plain(const struct roce *h, const void *end, __u8 proto, struct flow *f)
{
	if (proto != IPPROTO_UDP || (const void *)(h + 1) > end || h->udp.dest != bpf_htons(ROCE_PORT))
		return false;
	f->proto = f->carries = IPPROTO_UDP;
	f->ports = (__u32)bpf_ntohs(h->udp.source) << 16 | ROCE_PORT;
	f->qp = bpf_ntohl(h->bth.qp) & QP_MASK;
	return true;
}

/* The 8 octets of an address that begin at word n of two. */
static __always_inline __u64 address_word(const struct in6_addr *a, int n)
{
	return ((const __u64 *)a)[n];
}

/* Fills in f, with ipv6 2 for packets other than IP. */
static __always_inline void flow_of(struct __sk_buff *skb, struct flow *f)
{
	const __u32 want = sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + sizeof(struct roce);
	void *eth = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ipv6hdr *six;
	struct iphdr *four;

	f->ipv6 = 2;
	f->qp = ~0U;
	if (eth + want > end && skb->len >= want) {
		bpf_skb_pull_data(skb, want);
		eth = (void *)(long)skb->data;
		end = (void *)(long)skb->data_end;
	}
	six = eth + sizeof(struct ethhdr);
	four = eth + sizeof(struct ethhdr);
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && (void *)(six + 1) <= end) {
		f->ipv6 = 1;
		f->label = bpf_ntohl(*ipv6_word(six)) & 0xfffff;
		for (int n = 0; n < 2; n++) {
			f->source[n] = address_word(&six->saddr, n);
			f->destination[n] = address_word(&six->daddr, n);
		}
		if (!flow_plain((void *)(six + 1), end, six->nexthdr, f))
			softsai_flow_behind(skb, f);
	} else if (skb->protocol == bpf_htons(ETH_P_IP) && (void *)(four + 1) <= end) {
		f->ipv6 = 0;
		f->source[0] = four->saddr;
		f->destination[0] = four->daddr;
		if (four->version != 4 || four->ihl != 5 || (four->frag_off & bpf_htons(IP_FRAGMENT)) ||
		    !flow_plain((void *)(four + 1), end, four->protocol, f))
			softsai_flow_behind(skb, f);
	}
}

static __always_inline __u64 digest_step(__u64 digest, __u64 word, __u32 n)
{
	digest = (digest ^ word ^ softsai_flow_seed[n]) * 0x9e3779b97f4a7c15ULL;
	return digest ^ digest >> 32;
}

/* The name of the flow in a queue of a port; never 0. */
static __always_inline __u64 flow_digest(const struct flow *f, __u32 ifindex, __u32 queue)
{
	__u64 key = f->label, place = (__u64)ifindex << 32 | queue << 8 | f->ipv6, digest;

	if (softsai_five_tuple || !f->ipv6)
		key = 1ULL << 40 | (__u64)f->proto << 32 | f->ports;
	digest = digest_step(softsai_flow_seed[6], f->source[0], 0);
	digest = digest_step(digest, f->source[1], 1);
	digest = digest_step(digest, f->destination[0], 2);
	digest = digest_step(digest, f->destination[1], 3);
	digest = digest_step(digest, key, 4);
	if (f->inside)
		for (int n = 0; n < 2; n++)
			digest = digest_step(digest_step(digest, f->from[n], n), f->to[n], 2 + n);
	digest = digest_step(digest ^ place, f->qp, 5);
	digest = (digest ^ digest >> 29) * 0xbf58476d1ce4e5b9ULL;
	digest ^= digest >> 32;
	return digest ? digest : 1;
}

#endif
