/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The common packet, parsed in one go. */
#ifndef SOFTSAI_PLAIN_H
#define SOFTSAI_PLAIN_H

#include "parse.h"

/* A member of struct softsai_key within its word of 8 octets. The machine is little-endian. */
#define IN_WORD(member, value) ((__u64)(value) << 8 * (offsetof(struct softsai_key, member) % sizeof(__u64)))
#define WORD(member) (offsetof(struct softsai_key, member) / sizeof(__u64))

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are put together for little-endian machines");

/*
 * Fills p as softsai_parse does, but for the session, and the port, where the packet is an untagged
 * frame of UDP or TCP directly after an IPv6 header, not of a datagram service of RoCEv2, and
 * its headers can be read; false: it is another one. It saves the call: a return costs 5 ns
 * where the
 * kernel guards it.
 *
 * The key is put together in words, as the search reads it. A load of octets that
 * several stores have just written waits for all of them.
 */
static __always_inline bool parse_plain(struct __sk_buff *skb, struct packet *p)
{
	struct {
		struct ipv6hdr ip;
		struct udphdr udp;
		struct bth bth;
		struct aeth aeth; /* or the next header */
	} *h = (void *)(long)skb->data + ETH_HLEN;
	struct ethhdr *eth = (void *)(long)skb->data;
	const __u32 udp = ETH_HLEN + sizeof(h->ip);
	__u64 word[SOFTSAI_KEY_WORDS] = {};
	__u8 valid = SOFTSAI_IP | SOFTSAI_V6 | SOFTSAI_L4, syndrome = 0;
	__u32 opcode, length, end;

	if ((void *)(h + 1) > (void *)(long)skb->data_end || eth->h_proto != bpf_htons(ETH_P_IPV6) ||
	    h->ip.version != 6 || (h->ip.nexthdr != IPPROTO_UDP && h->ip.nexthdr != IPPROTO_TCP))
		return false;
	end = udp + bpf_ntohs(h->ip.payload_len);
	if (end > p->frame || udp + sizeof(h->udp) > end)
		return false;
	if (h->ip.nexthdr == IPPROTO_UDP && h->udp.dest == bpf_htons(ROCE_PORT)) {
		length = bpf_ntohs(h->udp.len);
		opcode = h->bth.opcode;
		if (length < sizeof(h->udp) + sizeof(h->bth) || udp + length > end || has_deth(opcode))
			return false;
		valid |= SOFTSAI_BTH;
		p->roce = softsai_bth_len[opcode] + bth_pad(&h->bth) + ICRC_LEN <= length - sizeof(h->udp);
		if (has_aeth(opcode) && p->roce) {
			valid |= SOFTSAI_AETH;
			syndrome = h->aeth.syndrome;
		}
		word[WORD(bth)] |= IN_WORD(bth, h->bth.qp);
		word[WORD(opcode)] |= IN_WORD(opcode, opcode);
		word[WORD(syndrome)] |= IN_WORD(syndrome, syndrome);
	}
	p->ip = ETH_HLEN;
	copy_address(&word[WORD(src)], &h->ip.saddr);
	copy_address(&word[WORD(dst)], &h->ip.daddr);
	word[WORD(label)] |= IN_WORD(label, *ipv6_word(&h->ip) & bpf_htonl(0xfffff));
	word[WORD(sport)] |= IN_WORD(sport, h->udp.source);
	word[WORD(dport)] |= IN_WORD(dport, h->udp.dest);
	word[WORD(proto)] |= IN_WORD(proto, h->ip.nexthdr);
	word[WORD(dscp)] |= IN_WORD(dscp, ipv6_dscp(&h->ip));
	word[WORD(valid)] |= IN_WORD(valid, valid);
	word[WORD(in_port)] |= IN_WORD(in_port, skb->ifindex);
	for (__u32 n = 0; n < SOFTSAI_KEY_WORDS; n++)
		((__u64 *)&p->key)[n] |= word[n];
	return true;
}

#endif
