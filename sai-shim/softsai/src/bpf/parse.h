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
#define PROTO_IPV4 4 /* in IPv6: a tunnel */
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_IPV6 41
#define PROTO_ROUTING 43
#define PROTO_FRAGMENT 44
#define PROTO_AH 51 /* RFC 4302 */
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
#define MAX_IP_HEADERS 3 /* two encapsulations */

/* Octets from the BTH's begin to the payload by opcode; filled by the loader. */
const volatile __u8 softsai_bth_len[256];

/*
 * The outermost IP header names the path: addresses as they arrive, label, DSCP and
 * protocol are its. What stands behind is the innermost packet's: where IPv6 carries
 * another IP packet, the key has ports and BTH of that one, and SOFTSAI_TUNNEL, if it
 * is RoCEv2, and nothing of it if not.
 */
struct packet {
	struct softsai_key key;
	__u32 frame;   /* length of the frame */
	__u32 ip;      /* offset of the outermost IP header */
	__u32 segment; /* offset of the last segment of its segment routing header; 0: dst is the final one */
	__u32 src_qp;  /* of a datagram, else 0; host order */
	__u32 hop;     /* IPv6: has hop-by-hop options */
	__u32 roce;    /* RoCEv2 with valid lengths, no fragment */
	__u32 cut;     /* a header lies behind what data..data_end holds */
	__u32 inner;   /* PROTO_IPV4 or PROTO_IPV6: a packet inside begins at at, and ends at end at most */
	__u32 at, end;
	__u32 fragment; /* the first one of several */
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

	return ((opcode & 0xe0) == 0 || (opcode & 0xe0) == 0xa0) && operation >= 0x0d && operation <= 0x12 &&
	       operation != 0x0e;
}

static __always_inline bool has_deth(__u32 opcode)
{
	return (opcode & 0xfe) == (SERVICE_UD | 4);
}

static __always_inline void parse_bth(struct __sk_buff *skb, struct packet *p, __u32 udp, __u32 end)
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
	p->roce = !p->fragment && behind + (h[9] >> 4 & 3) + ICRC_LEN <= length - 8;

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

/* The layer behind the outermost IP header, at off; the IP packet ends at end. */
static __always_inline void parse_l4(struct __sk_buff *skb, struct packet *p, __u32 off, __u32 end)
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
			parse_bth(skb, p, off, end);
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

/* The same behind an IP header inside: RoCEv2, or nothing that counts. */
static __always_inline void parse_inner_l4(struct __sk_buff *skb, struct packet *p, __u8 next, __u32 off, __u32 end)
{
	__u8 *h;

	if (next != PROTO_UDP)
		return;
	h = octets(skb, p, off, 8);
	if (!h || off + 8 > end || u16_at(h + 2) != ROCE_PORT)
		return;
	p->key.sport = *(__be16 *)h;
	p->key.dport = *(__be16 *)(h + 2);
	parse_bth(skb, p, off, end);
	if (p->key.valid & SOFTSAI_BTH)
		p->key.valid |= SOFTSAI_L4 | SOFTSAI_TUNNEL;
}

static __always_inline bool is_extension(__u8 next)
{
	return next == PROTO_HOP_BY_HOP || next == PROTO_ROUTING || next == PROTO_FRAGMENT || next == PROTO_AH ||
	       next == PROTO_DEST_OPTIONS;
}

static __always_inline __u32 extension_length(__u8 header, const __u8 *h)
{
	switch (header) {
	case PROTO_FRAGMENT:
		return 8;
	case PROTO_AH:
		return 4 * (h[1] + 2);
	}
	return 8 + h[1] * 8;
}

static __always_inline void parse_ipv4(struct __sk_buff *skb, struct packet *p, __u32 off, bool inner)
{
	__u8 *h = octets(skb, p, off, 20);
	__u32 length, end, where;
	__u8 next;

	if (!h || h[0] >> 4 != 4)
		return;
	length = (h[0] & 0xf) * 4;
	end = off + u16_at(h + 2);
	if (length < 20 || end < off + length || end > (inner ? p->end : p->frame))
		return;
	where = u16_at(h + 6) & 0x3fff; /* more fragments, offset */
	if (where)
		p->fragment = 1;
	next = h[9];
	if (!inner) {
		p->key.valid |= SOFTSAI_IP | SOFTSAI_V4;
		p->key.dscp = h[1] >> 2;
		p->key.proto = next;
		*(__be32 *)p->key.src = *(__be32 *)(h + 12);
		*(__be32 *)p->key.dst = *(__be32 *)(h + 16);
		p->ip = off;
	}
	if (where & 0x1fff)
		return;
	off += length;
	if (next == PROTO_AH) {
		h = octets(skb, p, off, 8);
		if (!h || off + extension_length(next, h) > end)
			return;
		next = h[0];
		off += extension_length(PROTO_AH, h);
		if (!inner)
			p->key.proto = next;
	}
	if (inner)
		parse_inner_l4(skb, p, next, off, end);
	else
		parse_l4(skb, p, off, end);
}

/* The last segment of a segment routing header that has segments left (RFC 8754). */
static __always_inline int parse_routing(struct __sk_buff *skb, struct packet *p, __u32 off, __u32 length, bool inner)
{
	__u8 *h = octets(skb, p, off, 8);

	if (!h)
		return -1;
	if (h[2] != ROUTING_SRH || !h[3])
		return 0;
	if (8 + 16 * (h[4] + 1) > length || h[3] > h[4] + 1)
		return -1;
	if (!inner)
		p->segment = off + 8;
	return 0;
}

/* Where an IP packet inside begins it is left to parse_inner. */
static __always_inline void parse_ipv6(struct __sk_buff *skb, struct packet *p, __u32 off, bool inner)
{
	__u8 *h = octets(skb, p, off, 40);
	__u32 end, length;
	__u8 next;

	if (!h || h[0] >> 4 != 6)
		return;
	end = off + 40 + u16_at(h + 4);
	if (end > (inner ? p->end : p->frame))
		return;
	next = h[6];
	if (!inner) {
		p->key.valid |= SOFTSAI_IP | SOFTSAI_V6;
		p->key.dscp = (h[0] & 0xf) << 2 | h[1] >> 6;
		p->key.label = *(__be32 *)h & bpf_htonl(0xfffff);
		copy_address(p->key.src, h + 8);
		copy_address(p->key.dst, h + 24);
		p->ip = off;
	}
	off += 40;

	for (int i = 0; i <= MAX_EXTENSIONS; i++) {
		if (!is_extension(next))
			break;
		h = octets(skb, p, off, 8);
		if (!h || i == MAX_EXTENSIONS)
			return;
		length = extension_length(next, h);
		if (off + length > end)
			return;
		if (next == PROTO_HOP_BY_HOP && !inner)
			p->hop = 1;
		if (next == PROTO_ROUTING && parse_routing(skb, p, off, length, inner))
			return;
		if (next == PROTO_FRAGMENT) {
			if (u16_at(h + 2) & 0xfff8) {
				if (!inner)
					p->key.proto = h[0];
				return;
			}
			if (h[3] & 1)
				p->fragment = 1;
		}
		next = h[0];
		off += length;
	}
	if (!inner)
		p->key.proto = next;
	if (next == PROTO_IPV4 || next == PROTO_IPV6) {
		p->inner = next;
		p->at = off;
		p->end = end;
	} else if (inner) {
		parse_inner_l4(skb, p, next, off, end);
	} else {
		parse_l4(skb, p, off, end);
	}
}

/* The IP packet inside. Not static: as softsai_parse. */
__noinline int softsai_parse_inner(struct __sk_buff *skb, struct packet *p)
{
	__u32 version;

	if (!p)
		return 0;
	version = p->inner;
	p->inner = 0;
	if (version == PROTO_IPV4)
		parse_ipv4(skb, p, p->at, true);
	else
		parse_ipv6(skb, p, p->at, true);
	return 0;
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
			parse_ipv6(skb, p, off + 2, false);
			for (int depth = 1; depth < MAX_IP_HEADERS && p->inner; depth++)
				softsai_parse_inner(skb, p);
			return 0;
		case ETH_TYPE_IPV4:
			parse_ipv4(skb, p, off + 2, false);
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
