/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Headers of packets: the kernel's structs, and those that its user API lacks. A struct is
 * read in words. Octet by octet, as the language would have it of unaligned memory, parsing
 * takes twice as long.
 */
#ifndef SOFTSAI_WIRE_H
#define SOFTSAI_WIRE_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/seg6.h>
#include <linux/types.h>
#include <linux/udp.h>

#define ETH_TYPE_OLDQ 0x9100 /* a service tag before IEEE 802.1ad */
#define ROCE_PORT 4791	     /* IBTA annex A17 */
#define ROUTING_SRH 4	     /* RFC 8754 */
#define SERVICE_UD 0x60	     /* of an opcode: unreliable datagram */
#define ICRC_LEN 4
#define IP_FRAGMENT 0x3fff /* of frag_off: more fragments, offset */
#define IP_OFFSET 0x1fff   /* of frag_off: offset */
#define IP6_OFFSET 0xfff8  /* of frag_off: offset */
#define IP6_MORE 1	   /* of frag_off: more fragments */

/* A VLAN tag after its type: its second half is the type of the next header. */
struct vlan_tag {
	__be16 tci;
	__be16 type;
};

/* RFC 8200, section 4.5. */
struct fragment_header {
	__u8 nexthdr;
	__u8 reserved;
	__be16 frag_off;
	__be32 id;
};

/* IBTA vol. 1, section 9.2. */
struct bth {
	__u8 opcode;
	__u8 flags; /* solicited event, migration, 2 bits of pad count, version */
	__be16 pkey;
	__be32 qp; /* FECN, BECN, reserved, DestQP */
	__be32 psn;
};

/* Datagram extended transport header, section 9.3. */
struct deth {
	__be32 qkey;
	__be32 qp; /* reserved, SrcQP */
};

/* Acknowledge extended transport header, section 9.3. */
struct aeth {
	__u8 syndrome;
	__u8 msn[3];
};

#define QP_MASK 0xffffff

static inline __attribute__((always_inline)) __u32 bth_pad(const struct bth *h)
{
	return h->flags >> 4 & 3;
}

/* Acknowledgements and read responses but the middle one, of RC and XRC. */
static inline __attribute__((always_inline)) _Bool has_aeth(__u32 opcode)
{
	__u32 operation = opcode & 0x1f;

	return ((opcode & 0xe0) == 0 || (opcode & 0xe0) == 0xa0) && operation >= 0x0d && operation <= 0x12 &&
	       operation != 0x0e;
}

static inline __attribute__((always_inline)) _Bool has_deth(__u32 opcode)
{
	return (opcode & 0xfe) == (SERVICE_UD | 4);
}

/* Version, traffic class and flow label: the first word. */
static inline __attribute__((always_inline)) __be32 *ipv6_word(struct ipv6hdr *h)
{
	return (__be32 *)h;
}

static inline __attribute__((always_inline)) __u8 ipv6_dscp(const struct ipv6hdr *h)
{
	return h->priority << 2 | h->flow_lbl[0] >> 6;
}

static inline __attribute__((always_inline)) void copy_address(void *to, const void *from)
{
	((__u64 *)to)[0] = ((const __u64 *)from)[0];
	((__u64 *)to)[1] = ((const __u64 *)from)[1];
}

#endif
