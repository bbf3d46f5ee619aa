/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Finds the fields of an ACL key in a frame, and whether it is RoCEv2. */
#ifndef SOFTSAI_PARSE_H
#define SOFTSAI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "softsai.h"
#include "wire.h"

#define MAX_TAGS 2
#define MAX_EXTENSIONS 8
#define MAX_IP_HEADERS 3 /* two encapsulations */

/* Octets from the start of the BTH to the payload, by opcode; filled by the loader. */
#ifdef __bpf__
const volatile __u8 softsai_bth_len[256];
#else
static __u8 softsai_bth_len[256];

/* In place of the packet in the library, which parses with the same code. */
struct softsai_memory {
	void *data, *end;
};
#endif

/*
 * The outermost IP header names the path: it has the addresses as they arrive, label, DSCP
 * and protocol. Where IPv6 carries another IP packet, the key has ports and BTH of the
 * innermost one, and SOFTSAI_TUNNEL, if that is RoCEv2; else nothing of it.
 */
struct packet {
	struct softsai_key key;
	__u32 frame;   /* length of the frame */
	__u32 ip;      /* offset of the outermost IP header */
	__u32 segment; /* offset of the last segment of its segment routing header; 0: dst is the final one */
	__u32 src_qp;  /* of a datagram, else 0; host order */
	__u32 next;    /* IPPROTO_IPIP or IPPROTO_IPV6: an IP packet begins at at, and ends at end at most */
	__u32 at, end;
	__u8 hop;      /* IPv6: has hop-by-hop options */
	__u8 roce;     /* RoCEv2 with valid lengths, unfragmented */
	__u8 cut;      /* a header is beyond data_end, and within the frame */
	__u8 fragment; /* the first one of several */

	/* Of the innermost packet that could be read: the session. */
	__u32 session_ports; /* source << 16 | destination, host order */
	__u16 session;	     /* offset of its IP header */
	__u16 final;	     /* offset of its final destination */
	__u16 bth;	     /* offset of its BTH; 0: it has none */
	__u8 session_v6;     /* its IP header is IPv6's */
	__u8 session_proto;  /* TCP or UDP; 0: another protocol, or its ports are missing */
};

/*
 * Points to len octets at off of the frame, or to nothing when the frame, or
 * the part of it that can be read, is shorter. data_end - data is computed as
 * u64: as a difference of pointers the verifier does not take it.
 */
static __always_inline void *octets(struct __sk_buff *skb, struct packet *p, __u64 off, __u64 len)
{
#ifdef __bpf__
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
#else /* the library's, of a packet in its memory */
	struct softsai_memory *m = (void *)skb;
	void *data = m->data, *data_end = m->end;
#endif
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

static __always_inline void parse_bth(struct __sk_buff *skb, struct packet *p, __u32 at, __u32 end)
{
	struct {
		struct udphdr udp;
		struct bth bth;
	} *h = octets(skb, p, at, sizeof(*h));
	__u32 behind = at + sizeof(*h), length, opcode;
	struct deth *deth;
	struct aeth *aeth;

	if (!h)
		return;
	length = bpf_ntohs(h->udp.len);
	if (length < sizeof(*h) || at + length > end)
		return;
	opcode = h->bth.opcode;
	p->key.valid |= SOFTSAI_BTH;
	p->bth = at + sizeof(h->udp);
	p->key.opcode = opcode;
	p->key.bth = h->bth.qp;
	p->roce = !p->fragment &&
		  softsai_bth_len[opcode] + bth_pad(&h->bth) + ICRC_LEN <= length - sizeof(struct udphdr);

	if (has_deth(opcode)) {
		deth = octets(skb, p, behind, sizeof(*deth));
		if (deth && p->roce)
			p->src_qp = bpf_ntohl(deth->qp) & QP_MASK;
		else
			p->roce = 0;
		return;
	}
	if (has_aeth(opcode) && p->roce) {
		aeth = octets(skb, p, behind, sizeof(*aeth));
		if (aeth) {
			p->key.valid |= SOFTSAI_AETH;
			p->key.syndrome = aeth->syndrome;
		}
	}
}

/* The part of TCP, UDP and ICMP in a key: ports, or type and code. */
union l4 {
	struct udphdr ports; /* TCP begins alike */
	struct {
		__u8 type, code;
	} icmp;
};

static __always_inline void note_ports(struct packet *p, __u8 proto, const struct udphdr *h)
{
	p->session_proto = proto;
	p->session_ports = (__u32)bpf_ntohs(h->source) << 16 | bpf_ntohs(h->dest);
}

/* The layer after the outermost IP header, at off; the IP packet ends at end. */
static __always_inline void parse_l4(struct __sk_buff *skb, struct packet *p, __u32 off, __u32 end)
{
	__u32 proto = p->key.proto, length = proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6 ? 4 : sizeof(union l4);
	union l4 *h;

	if (length != 4 && proto != IPPROTO_UDP && proto != IPPROTO_TCP)
		return;
	h = octets(skb, p, off, length);
	if (!h || off + length > end)
		return;
	if (length == 4) {
		p->key.valid |= SOFTSAI_ICMP;
		p->key.icmp_type = h->icmp.type;
		p->key.icmp_code = h->icmp.code;
		return;
	}
	p->key.valid |= SOFTSAI_L4;
	p->key.sport = h->ports.source;
	p->key.dport = h->ports.dest;
	note_ports(p, proto, &h->ports);
	if (proto == IPPROTO_UDP && p->key.dport == bpf_htons(ROCE_PORT))
		parse_bth(skb, p, off, end);
}

/* The same after an IP header inside: only RoCEv2 has an effect on the key. */
static __always_inline void parse_inner_l4(struct __sk_buff *skb, struct packet *p, __u8 next, __u32 off, __u32 end)
{
	struct udphdr *h;

	if (next != IPPROTO_UDP && next != IPPROTO_TCP)
		return;
	h = octets(skb, p, off, sizeof(*h));
	if (!h || off + sizeof(*h) > end)
		return;
	note_ports(p, next, h);
	if (next != IPPROTO_UDP || h->dest != bpf_htons(ROCE_PORT))
		return;
	p->key.sport = h->source;
	p->key.dport = h->dest;
	parse_bth(skb, p, off, end);
	if (p->key.valid & SOFTSAI_BTH)
		p->key.valid |= SOFTSAI_L4 | SOFTSAI_TUNNEL;
}

static __always_inline bool is_extension(__u8 next)
{
	return next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_FRAGMENT || next == IPPROTO_AH ||
	       next == IPPROTO_DSTOPTS;
}

static __always_inline __u32 extension_length(__u8 header, const struct ipv6_opt_hdr *h)
{
	switch (header) {
	case IPPROTO_FRAGMENT:
		return sizeof(struct fragment_header);
	case IPPROTO_AH: /* RFC 4302 */
		return 4 * (h->hdrlen + 2);
	}
	return 8 + h->hdrlen * 8;
}

static __always_inline void parse_ipv4(struct __sk_buff *skb, struct packet *p, __u32 off, bool inner)
{
	struct iphdr *h = octets(skb, p, off, sizeof(*h));
	struct ipv6_opt_hdr *ah;
	__u32 length, end, where;
	__u8 next;

	if (!h || h->version != 4)
		return;
	length = h->ihl * 4;
	end = off + bpf_ntohs(h->tot_len);
	if (length < sizeof(*h) || end < off + length || end > p->end)
		return;
	where = bpf_ntohs(h->frag_off) & IP_FRAGMENT;
	if (where)
		p->fragment = 1;
	next = h->protocol;
	p->session = off;
	p->session_v6 = 0;
	p->final = off + offsetof(struct iphdr, daddr);
	if (!inner) {
		p->key.valid |= SOFTSAI_IP | SOFTSAI_V4;
		p->key.dscp = h->tos >> 2;
		p->key.proto = next;
		*(__be32 *)p->key.src = h->saddr;
		*(__be32 *)p->key.dst = h->daddr;
		p->ip = off;
	}
	if (where & IP_OFFSET)
		return;
	off += length;
	if (next == IPPROTO_AH) { /* it begins as an extension of IPv6 does */
		ah = octets(skb, p, off, 8);
		if (!ah || off + extension_length(next, ah) > end)
			return;
		next = ah->nexthdr;
		off += extension_length(IPPROTO_AH, ah);
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
	struct ipv6_sr_hdr *h = octets(skb, p, off, sizeof(*h));

	if (!h)
		return -1;
	if (h->type != ROUTING_SRH || !h->segments_left)
		return 0;
	if (sizeof(*h) + sizeof(struct in6_addr) * (h->first_segment + 1) > length ||
	    h->segments_left > h->first_segment + 1)
		return -1;
	p->final = off + sizeof(*h);
	if (!inner)
		p->segment = p->final;
	return 0;
}

/* Leaves to the caller where an IP packet inside begins. */
static __always_inline void parse_ipv6(struct __sk_buff *skb, struct packet *p, __u32 off, bool inner)
{
	struct ipv6hdr *h = octets(skb, p, off, sizeof(*h));
	struct ipv6_opt_hdr *option;
	__u32 end, length;
	__u8 next;

	if (!h || h->version != 6)
		return;
	end = off + sizeof(*h) + bpf_ntohs(h->payload_len);
	if (end > p->end)
		return;
	next = h->nexthdr;
	p->session = off;
	p->session_v6 = 1;
	p->final = off + offsetof(struct ipv6hdr, daddr);
	if (!inner) {
		p->key.valid |= SOFTSAI_IP | SOFTSAI_V6;
		p->key.dscp = ipv6_dscp(h);
		p->key.label = *ipv6_word(h) & bpf_htonl(0xfffff);
		copy_address(p->key.src, &h->saddr);
		copy_address(p->key.dst, &h->daddr);
		p->ip = off;
	}
	off += sizeof(*h);

	for (int i = 0; i <= MAX_EXTENSIONS; i++) {
		if (!is_extension(next))
			break;
		option = octets(skb, p, off, 8);
		if (!option || i == MAX_EXTENSIONS)
			return;
		length = extension_length(next, option);
		if (off + length > end)
			return;
		if (next == IPPROTO_HOPOPTS && !inner)
			p->hop = 1;
		if (next == IPPROTO_ROUTING && parse_routing(skb, p, off, length, inner))
			return;
		if (next == IPPROTO_FRAGMENT) {
			__u32 where = bpf_ntohs(((struct fragment_header *)option)->frag_off);

			if (where & IP6_OFFSET) {
				if (!inner)
					p->key.proto = option->nexthdr;
				return;
			}
			if (where & IP6_MORE)
				p->fragment = 1;
		}
		next = option->nexthdr;
		off += length;
	}
	if (!inner)
		p->key.proto = next;
	if (next == IPPROTO_IPIP || next == IPPROTO_IPV6) {
		p->next = next;
		p->at = off;
		p->end = end;
	} else if (inner) {
		parse_inner_l4(skb, p, next, off, end);
	} else {
		parse_l4(skb, p, off, end);
	}
}

/*
 * The IP packet at p->at, in the outermost one or in another. Volatile: else the compiler makes
 * a copy of all this for each value that a caller may have left there.
 */
static __always_inline void parse_ip(struct __sk_buff *skb, struct packet *p, bool inner)
{
	__u32 version = *(volatile __u32 *)&p->next, at = *(volatile __u32 *)&p->at;

	p->next = 0;
	if (version == IPPROTO_IPIP)
		parse_ipv4(skb, p, at, inner);
	else if (version == IPPROTO_IPV6)
		parse_ipv6(skb, p, at, inner);
}

/* The IP packet inside. Not static: as softsai_parse. */
__noinline int softsai_parse_inner(struct __sk_buff *skb, struct packet *p)
{
	if (!p)
		return 0;
	parse_ip(skb, p, true);
	return 0;
}

/*
 * Fills p, which is zero but for the frame's length. Not static: so the verifier
 * goes through it by itself, and not once more for each path that leads out of it.
 * For the same reason IP is read after the loop: once, and not for each number of tags.
 */
__noinline int softsai_parse(struct __sk_buff *skb, struct packet *p)
{
	__be16 *type;

	if (!p)
		return 0;
	p->at = offsetof(struct ethhdr, h_proto);
	p->end = p->frame;
	for (int tags = 0; tags <= MAX_TAGS && !p->next; tags++) {
		type = octets(skb, p, p->at, sizeof(*type));
		if (!type)
			return 0;
		switch (bpf_ntohs(*type)) {
		case ETH_P_IPV6:
			p->next = IPPROTO_IPV6;
			p->at += sizeof(*type);
			break;
		case ETH_P_IP:
			p->next = IPPROTO_IPIP;
			p->at += sizeof(*type);
			break;
		case ETH_P_8021Q:
		case ETH_P_8021AD:
		case ETH_TYPE_OLDQ:
			p->at += sizeof(struct vlan_tag);
			break;
		default:
			return 0;
		}
	}
	parse_ip(skb, p, false);
	for (int depth = 1; depth < MAX_IP_HEADERS && p->next; depth++)
		softsai_parse_inner(skb, p);
	return 0;
}

#endif
