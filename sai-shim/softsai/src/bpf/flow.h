/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Which flow a packet that leaves is of. */
#ifndef SOFTSAI_FLOW_H
#define SOFTSAI_FLOW_H

#define FLOW_SEEDS 7

const volatile __u64 softsai_flow_seed[FLOW_SEEDS]; /* secret: no sender can make flows that meet in one digest */

__u32 softsai_five_tuple; /* SAI_SWITCH_ATTR_FLOW_KEY */

/* Ports and queue pair, wherever the headers are. */
static __always_inline void flow_behind(struct __sk_buff *skb, struct flow *f)
{
	struct packet p = { .frame = skb->len };

	softsai_parse(skb, &p);
	f->proto = p.key.proto;
	if (p.key.valid & SOFTSAI_L4)
		f->ports = (__u32)bpf_ntohs(p.key.sport) << 16 | bpf_ntohs(p.key.dport);
	if (p.key.valid & SOFTSAI_BTH)
		f->qp = bpf_ntohl(p.key.bth) & 0xffffff;
}

/* The common packet: UDP right behind IP, to the port of RoCEv2. */
static __always_inline bool flow_plain(const __u8 *udp, const __u8 *end, __u8 proto, struct flow *f)
{
	if (proto != PROTO_UDP || udp + 8 + BTH_LEN > end || u16_at(udp + 2) != ROCE_PORT)
		return false;
	f->proto = PROTO_UDP;
	f->ports = u16_at(udp) << 16 | ROCE_PORT;
	f->qp = bpf_ntohl(*(const __be32 *)(udp + 8 + 4)) & 0xffffff;
	return true;
}

/* Fills in f, which is ipv6 2 for what is not IP. */
static __always_inline void flow_of(struct __sk_buff *skb, struct flow *f)
{
	const __u32 want = 14 + 40 + 8 + BTH_LEN;
	__u8 *h = (void *)(long)skb->data;
	__u8 *end = (void *)(long)skb->data_end;

	f->ipv6 = 2;
	f->qp = ~0U;
	if (h + want > end && skb->len >= want) {
		bpf_skb_pull_data(skb, want);
		h = (void *)(long)skb->data;
		end = (void *)(long)skb->data_end;
	}
	if (skb->protocol == bpf_htons(ETH_TYPE_IPV6) && h + 14 + 40 <= end) {
		f->ipv6 = 1;
		f->label = bpf_ntohl(*(__be32 *)(h + 14)) & 0xfffff;
		for (int i = 0; i < 2; i++) {
			f->source[i] = *(__u64 *)(h + 14 + 8 + 8 * i);
			f->destination[i] = *(__u64 *)(h + 14 + 24 + 8 * i);
		}
		if (!flow_plain(h + 14 + 40, end, h[14 + 6], f))
			flow_behind(skb, f);
	} else if (skb->protocol == bpf_htons(ETH_TYPE_IPV4) && h + 14 + 20 <= end) {
		f->ipv6 = 0;
		f->source[0] = *(__be32 *)(h + 14 + 12);
		f->destination[0] = *(__be32 *)(h + 14 + 16);
		if (h[14] != 0x45 || (u16_at(h + 14 + 6) & 0x3fff) || !flow_plain(h + 14 + 20, end, h[14 + 9], f))
			flow_behind(skb, f);
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
	digest = digest_step(digest ^ place, f->qp, 5);
	digest = (digest ^ digest >> 29) * 0xbf58476d1ce4e5b9ULL;
	digest ^= digest >> 32;
	return digest ? digest : 1;
}

#endif
