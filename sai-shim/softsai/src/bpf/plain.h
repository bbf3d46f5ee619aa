/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The common packet, parsed in one go. */
#ifndef SOFTSAI_PLAIN_H
#define SOFTSAI_PLAIN_H

/* A member of struct softsai_key within its word of 8 octets. The machine is little-endian. */
#define IN_WORD(member, value) ((__u64)(value) << 8 * (offsetof(struct softsai_key, member) % sizeof(__u64)))
#define WORD(member) (offsetof(struct softsai_key, member) / sizeof(__u64))

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are put together for little-endian machines");

/*
 * Fills p as softsai_parse does, and the port, where the packet is an untagged frame of RoCEv2
 * right behind an IPv6 header, not of a datagram service, and its headers can be
 * read; says whether it is. It saves the call: a return costs 5 ns where the
 * kernel guards it.
 *
 * The key is put together in words, as the search reads it. A load of octets that
 * several stores have just written waits for all of them.
 */
static __always_inline bool parse_plain(struct __sk_buff *skb, struct packet *p)
{
	const __u32 udp = 14 + 40, bth = udp + 8, behind = bth + BTH_LEN;
	__u8 *h = (void *)(long)skb->data, valid = SOFTSAI_IP | SOFTSAI_V6 | SOFTSAI_L4 | SOFTSAI_BTH, syndrome = 0;
	__u64 word[SOFTSAI_KEY_WORDS] = {};
	__u32 opcode, length, end;

	if ((void *)(h + behind + 4) > (void *)(long)skb->data_end || u16_at(h + 12) != ETH_TYPE_IPV6 ||
	    h[14] >> 4 != 6 || h[20] != PROTO_UDP || u16_at(h + udp + 2) != ROCE_PORT)
		return false;
	end = udp + u16_at(h + 18);
	length = u16_at(h + udp + 4);
	opcode = h[bth];
	if (end > p->frame || length < 8 + BTH_LEN || udp + length > end || has_deth(opcode))
		return false;
	p->ip = 14;
	p->roce = softsai_bth_len[opcode] + (h[bth + 1] >> 4 & 3) + ICRC_LEN <= length - 8;
	if (has_aeth(opcode) && p->roce) {
		valid |= SOFTSAI_AETH;
		syndrome = h[behind];
	}
	copy_address((__u8 *)&word[WORD(src)], h + 22);
	copy_address((__u8 *)&word[WORD(dst)], h + 38);
	word[WORD(label)] |= IN_WORD(label, *(__be32 *)(h + 14) & bpf_htonl(0xfffff));
	word[WORD(bth)] |= IN_WORD(bth, *(__be32 *)(h + bth + 4));
	word[WORD(sport)] |= IN_WORD(sport, *(__be16 *)(h + udp));
	word[WORD(dport)] |= IN_WORD(dport, *(__be16 *)(h + udp + 2));
	word[WORD(proto)] |= IN_WORD(proto, PROTO_UDP);
	word[WORD(opcode)] |= IN_WORD(opcode, opcode);
	word[WORD(syndrome)] |= IN_WORD(syndrome, syndrome);
	word[WORD(dscp)] |= IN_WORD(dscp, (__u8)((h[14] & 0xf) << 2 | h[15] >> 6));
	word[WORD(valid)] |= IN_WORD(valid, valid);
	word[WORD(in_port)] |= IN_WORD(in_port, skb->ifindex);
	for (__u32 n = 0; n < SOFTSAI_KEY_WORDS; n++)
		((__u64 *)&p->key)[n] |= word[n];
	return true;
}

#endif
