/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Finds the fields of an ACL key in a frame, and says whether it is RoCEv2. */
#ifndef SOFTSAI_PARSE_H
#define SOFTSAI_PARSE_H

#define ETH_TYPE_IPV4 0x0800
#define ETH_TYPE_IPV6 0x86dd
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_QINQ 0x88a8
#define ETH_TYPE_OLDQ 0x9100

#define PROTO_HOP_BY_HOP 0
#define PROTO_ICMP 1
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_ROUTING 43
#define PROTO_FRAGMENT 44
#define PROTO_ICMPV6 58
#define PROTO_DEST_OPTIONS 60

#define ROUTING_SRH 4 /* RFC 8754 */
#define ROCE_PORT 4791
#define BTH_LEN 12
#define DETH_LEN 8
#define ICRC_LEN 4
#define SERVICE_UD 0x60
#define MAX_TAGS 2
#define MAX_EXTENSIONS 8

/* Octets from the BTH's begin to the payload by opcode; filled by the loader. */
const volatile __u8 softsai_bth_len[256];

struct packet {
	struct softsai_key key;
	__u32 frame;	/* length of the frame */
	__u32 ip;	/* offset of the IP header */
	__u32 src_qp;	/* of a datagram, else 0; host order */
	__u32 hop;	/* IPv6: has hop-by-hop options */
	__u32 roce;	/* RoCEv2 with valid lengths, no fragment */
	__u32 cut;	/* a header lies behind what data..data_end holds */
};

/*
 * Points to len octets at off of the frame, or to nothing when the frame, or
 * the part of it that can be read, is shorter. data_end - data is computed as
 * u64: as a difference of pointers the verifier does not take it.
 */
static __always_inline void *octets(struct __sk_buff *skb, struct packet *p, __u64 off, __u64 len)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	void *at;

	if (off > SOFTSAI_HEADROOM)
		return NULL;
	at = data + off;
	if (at + len > data_end) {
		if (off + len <= p->frame)
			p->cut = 1;
		return NULL;
	}
	return at;
}

/*
 * Words of a header in one load each. Octet by octet, as the language would have
 * it of unaligned memory, parsing takes twice as long.
 */
static __always_inline __u32 u16_at(const __u8 *h)
{
	return bpf_ntohs(*(const __be16 *)h);
}

static __always_inline void copy_address(__u8 *to, const __u8 *from)
{
	((__u64 *)to)[0] = ((const __u64 *)from)[0];
	((__u64 *)to)[1] = ((const __u64 *)from)[1];
}

/* Acknowledgements and read responses but the middle one, of RC and XRC. */
static __always_inline bool has_aeth(__u32 opcode)
{
	__u32 operation = opcode & 0x1f;

	return ((opcode & 0xe0) == 0 || (opcode & 0xe0) == 0xa0) && operation >= 0x0d && operation <= 0x12 && operation != 0x0e;
}

static __always_inline bool has_deth(__u32 opcode)
{
	return (opcode & 0xfe) == (SERVICE_UD | 4);
}

static __always_inline void parse_bth(struct __sk_buff *skb, struct packet *p, __u32 udp, __u32 end, bool fragment)
{
	__u8 *h = octets(skb, p, udp, 8 + BTH_LEN);
	__u32 bth = udp + 8, length, behind;

	if (!h)
		return;
	length = u16_at(h + 4);
	if (length < 8 + BTH_LEN || udp + length > end)
		return;
	p->key.valid |= SOFTSAI_BTH;
	p->key.opcode = h[8];
	p->key.bth = *(__be32 *)(h + 12);
	behind = softsai_bth_len[h[8]];
	p->roce = !fragment && behind + (h[9] >> 4 & 3) + ICRC_LEN <= length - 8;

	if (has_deth(h[8])) {
		h = octets(skb, p, bth + BTH_LEN, DETH_LEN);
		if (h && p->roce)
			p->src_qp = h[5] << 16 | h[6] << 8 | h[7];
		else
			p->roce = 0;
		return;
	}
	if (has_aeth(h[8]) && p->roce) {
		h = octets(skb, p, bth + BTH_LEN, 4);
		if (h) {
			p->key.valid |= SOFTSAI_AETH;
			p->key.syndrome = h[0];
		}
	}
}

/* The layer behind IP, at off; the IP packet ends at end. */
static __always_inline void parse_l4(struct __sk_buff *skb, struct packet *p, __u32 off, __u32 end, bool fragment)
{
	__u8 *h;

	switch (p->key.proto) {
	case PROTO_UDP:
	case PROTO_TCP:
		h = octets(skb, p, off, 8);
		if (!h || off + 8 > end)
			return;
		p->key.valid |= SOFTSAI_L4;
		p->key.sport = *(__be16 *)h;
		p->key.dport = *(__be16 *)(h + 2);
		if (p->key.proto == PROTO_UDP && p->key.dport == bpf_htons(ROCE_PORT))
			parse_bth(skb, p, off, end, fragment);
		return;
	case PROTO_ICMP:
	case PROTO_ICMPV6:
		h = octets(skb, p, off, 4);
		if (!h || off + 4 > end)
			return;
		p->key.valid |= SOFTSAI_ICMP;
		p->key.icmp_type = h[0];
		p->key.icmp_code = h[1];
	}
}

static __always_inline void parse_ipv4(struct __sk_buff *skb, struct packet *p, __u32 off)
{
	__u8 *h = octets(skb, p, off, 20);
	__u32 length, end, where;

	if (!h || h[0] >> 4 != 4)
		return;
	length = (h[0] & 0xf) * 4;
	end = off + u16_at(h + 2);
	if (length < 20 || end < off + length || end > p->frame)
		return;
	where = u16_at(h + 6) & 0x3fff; /* more fragments, offset */
	p->key.valid |= SOFTSAI_IP | SOFTSAI_V4;
	p->key.dscp = h[1] >> 2;
	p->key.proto = h[9];
	*(__be32 *)p->key.src = *(__be32 *)(h + 12);
	*(__be32 *)p->key.dst = *(__be32 *)(h + 16);
	p->ip = off;
	if (!(where & 0x1fff))
		parse_l4(skb, p, off + length, end, where != 0);
}

/* The last segment of a segment routing header that has segments left (RFC 8754). */
static __always_inline int parse_routing(struct __sk_buff *skb, struct packet *p, __u32 off, __u32 length)
{
	__u8 *h = octets(skb, p, off, 8);

	if (!h)
		return -1;
	if (h[2] != ROUTING_SRH || !h[3])
		return 0;
	if (8 + 16 * (h[4] + 1) > length || h[3] > h[4] + 1)
		return -1;
	h = octets(skb, p, off + 8, 16);
	if (!h)
		return -1;
	copy_address(p->key.dst, h);
	return 0;
}

static __always_inline void parse_ipv6(struct __sk_buff *skb, struct packet *p, __u32 off)
{
	__u8 *h = octets(skb, p, off, 40);
	bool fragment = false;
	__u32 end, length;
	__u8 next;

	if (!h || h[0] >> 4 != 6)
		return;
	end = off + 40 + u16_at(h + 4);
	if (end > p->frame)
		return;
	p->key.valid |= SOFTSAI_IP | SOFTSAI_V6;
	p->key.dscp = (h[0] & 0xf) << 2 | h[1] >> 6;
	p->key.label = *(__be32 *)h & bpf_htonl(0xfffff);
	copy_address(p->key.src, h + 8);
	copy_address(p->key.dst, h + 24);
	p->ip = off;
	off += 40;
	next = h[6];

	for (int i = 0; i <= MAX_EXTENSIONS; i++) {
		if (next != PROTO_HOP_BY_HOP && next != PROTO_ROUTING && next != PROTO_FRAGMENT && next != PROTO_DEST_OPTIONS) {
			p->key.proto = next;
			parse_l4(skb, p, off, end, fragment);
			return;
		}
		h = octets(skb, p, off, 8);
		if (!h || i == MAX_EXTENSIONS)
			return;
		length = next == PROTO_FRAGMENT ? 8 : 8 + h[1] * 8;
		if (off + length > end)
			return;
		if (next == PROTO_HOP_BY_HOP)
			p->hop = 1;
		if (next == PROTO_ROUTING && parse_routing(skb, p, off, length))
			return;
		if (next == PROTO_FRAGMENT) {
			if (u16_at(h + 2) & 0xfff8) {
				p->key.proto = h[0];
				return;
			}
			fragment = fragment || h[3] & 1;
		}
		next = h[0];
		off += length;
	}
}

/*
 * Fills p, which is zero but for the frame's length. Not static: so the verifier
 * goes through it by itself, and not once more for each way that leads out of it.
 */
__noinline int softsai_parse(struct __sk_buff *skb, struct packet *p)
{
	__u32 off = 12;
	__u8 *h;

	if (!p)
		return 0;
	for (int tags = 0; tags <= MAX_TAGS; tags++) {
		h = octets(skb, p, off, 2);
		if (!h)
			return 0;
		switch (u16_at(h)) {
		case ETH_TYPE_IPV6:
			parse_ipv6(skb, p, off + 2);
			return 0;
		case ETH_TYPE_IPV4:
			parse_ipv4(skb, p, off + 2);
			return 0;
		case ETH_TYPE_VLAN:
		case ETH_TYPE_QINQ:
		case ETH_TYPE_OLDQ:
			off += 4;
			break;
		default:
			return 0;
		}
	}
	return 0;
}

#endif
