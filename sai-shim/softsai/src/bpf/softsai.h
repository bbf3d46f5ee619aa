/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The layout of every map, shared by the BPF program and the library. Octet
 * order is the packet's unless a member says otherwise.
 */
#ifndef SOFTSAI_BPF_H
#define SOFTSAI_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

/* A bench builds programs that do nothing: what the kernel takes to call them. */
#ifndef SOFTSAI_EMPTY
#define SOFTSAI_EMPTY 0
#endif

/*
 * The layout's version. Maps from SOFTSAI_LAYOUT_OLDEST on are adopted: up to the present one
 * members have their size and place, and the meaning of entries is written again from the records.
 * A change that breaks this raises both.
 */
#define SOFTSAI_LAYOUT 4
#define SOFTSAI_LAYOUT_OLDEST 2

#define SOFTSAI_SHAPES 16		 /* mask shapes a table */
#define SOFTSAI_TABLES 16		 /* ACL tables */
#define SOFTSAI_VIEWS 64		 /* generations of tables' shape lists */
#define SOFTSAI_ENTRIES 131072		 /* default size of the entry map */
#define SOFTSAI_PORTS 65536		 /* ports have an ifindex below */
#define SOFTSAI_HOPS 1024		 /* next hops */
#define SOFTSAI_POLICERS 16384		 /* policer 0 guards the CPU */
#define SOFTSAI_HEADROOM 512		 /* octets that headers may take */
#define SOFTSAI_MAX_RATE 200000000000ULL /* of a policer, a second */
#define SOFTSAI_MAX_BURST (1ULL << 40)
#define SOFTSAI_SNAP 512       /* octets of a packet that go to the CPU */
#define SOFTSAI_META_CHUNK 192 /* octets of one metadata record */

/* Which of a key's fields the packet has. An entry asks for those it matches. */
enum softsai_valid {
	SOFTSAI_V4 = 1 << 0,
	SOFTSAI_V6 = 1 << 1,
	SOFTSAI_L4 = 1 << 2,	 /* ports: TCP or UDP header within the packet */
	SOFTSAI_BTH = 1 << 3,	 /* UDP port 4791 and a whole BTH */
	SOFTSAI_AETH = 1 << 4,	 /* a whole one */
	SOFTSAI_ICMP = 1 << 5,	 /* type and code, of ICMP or ICMPv6 */
	SOFTSAI_IP = 1 << 6,	 /* either version */
	SOFTSAI_TUNNEL = 1 << 7, /* ports and BTH are of a RoCEv2 packet inside an IPv6 one */
};

/* Matches of an ACL. The key of an entry is these fields under its mask. */
struct softsai_key {
	__u8 src[16]; /* IPv4: the first 4 octets */
	__u8 dst[16]; /* as it arrives: under a segment routing header the active segment */
	__be32 label; /* IPv6 flow label */
	__be32 bth;   /* octets 4-7 of the BTH: FECN, BECN, reserved, DestQP */
	__be16 sport;
	__be16 dport;
	__u8 proto; /* after the extension headers of the outermost IP header */
	__u8 opcode;
	__u8 syndrome;
	__u8 icmp_type;
	__u8 icmp_code;
	__u8 dscp;
	__u8 valid; /* enum softsai_valid */
	__u8 zero;
	__u32 in_port; /* ifindex, host order */
} __attribute__((aligned(8)));

#define SOFTSAI_KEY_WORDS (sizeof(struct softsai_key) / sizeof(__u64))
#define SOFTSAI_SEED_WORDS (SOFTSAI_KEY_WORDS + 1) /* the last one is for the shape's id */

enum softsai_action {
	SOFTSAI_COUNT = 1 << 0,
	SOFTSAI_COMPUTE = 1 << 1,   /* compute the flow label and write it */
	SOFTSAI_SET_LABEL = 1 << 2, /* write the label of the entry */
	SOFTSAI_ZERO_ONLY = 1 << 3, /* COMPUTE: leave a label other than 0 */
	SOFTSAI_POLICE = 1 << 4,
	SOFTSAI_COPY = 1 << 5,
	SOFTSAI_DROP = 1 << 6,
	SOFTSAI_SET_DSCP = 1 << 7,
	SOFTSAI_SAMPLE = 1 << 8,
	SOFTSAI_MIRROR = 1 << 9,
	SOFTSAI_SET_TC = 1 << 10, /* 1 << 11 was another in an earlier version */
	SOFTSAI_OUTER = 1 << 12,  /* COMPUTE: the outermost header of a tunnel, too */
	SOFTSAI_REDIRECT = 1 << 13,
};

/* An ACL entry. All members in host order. Aligned, so that it is copied in words of 8 octets. */
struct softsai_entry {
	__u32 priority;
	__u32 actions; /* enum softsai_action */
	__u32 label;
	__u32 counter;	/* index */
	__u32 policer;	/* index */
	__u32 trap;	/* low half of the user-defined trap's object id, or 0 */
	__u32 sample;	/* one packet of so many */
	__u16 mirror;	/* ifindex */
	__u16 truncate; /* octets of a mirrored copy; 0: all */
	__u8 algorithm; /* 0 draft-literal, 1 crc32 */
	__u8 dscp;
	__u8 tc; /* traffic class */
	__u8 zero;
	__u32 hop; /* REDIRECT: index of the next hop */
} __attribute__((aligned(8)));

/* An entry in the map, with its whole match. */
struct softsai_cell {
	__u64 id; /* of the shape */
	struct softsai_key key;
	struct softsai_entry entry;
};

struct softsai_shape {
	struct softsai_key mask;
	struct softsai_key key; /* of the entry, where it is the only one of this shape */
	struct softsai_entry entry;
	__u32 single;	/* it is */
	__u32 priority; /* highest of the entries of this shape */
	__u64 id;	/* of the shape, unique among all tables */
	__u64 digest;	/* of the id; with that of a key it is where a cell lies */
};

/*
 * The shapes of one table, sorted by priority, highest first. A view in use is
 * never changed: a change writes another view, then points the ports to it.
 */
struct softsai_view {
	__u32 shapes;
	__u32 zero;
	struct softsai_shape shape[SOFTSAI_SHAPES];
};

/* The fields of a RoCEv2 packet that choose the next hop. */
struct softsai_steer {
	__u32 bth;   /* bits of the BTH's octets 4-7, host order; 0: the kernel chooses */
	__u32 label; /* mask of the flow label, network order */
	__u32 sport; /* mask of the UDP source port, network order */
};

/* A next hop. */
struct softsai_hop {
	__u32 ifindex; /* 0: the packet is forwarded as without an entry */
	__u32 family;  /* of the address: AF_INET or AF_INET6 */
	__u8 address[16];
};

/* A port, by ifindex. */
struct softsai_port {
	__u32 view; /* index + 1, or 0: unbound */
	struct softsai_steer steer4, steer6;
};

struct softsai_counter {
	__u64 packets;
	__u64 bytes; /* of the frame, less FCS */
};

/* A token bucket with three colors. An index of 0 is the one before the CPU. */
struct softsai_policer {
	struct bpf_spin_lock lock;
	__u32 packets; /* meters packets, else octets */
	__u64 rate;    /* a second; 0: no policer */
	__u64 burst;   /* committed */
	__u64 excess;
	__u64 tokens;	 /* of the committed bucket */
	__u64 spare;	 /* of the excess bucket */
	__u64 filled;	 /* when, in ns of CLOCK_MONOTONIC */
	__u32 action[3]; /* of green, yellow, red: enum softsai_action */
	__u32 zero;
	__u64 count[3]; /* packets, by color */
	__u64 bytes[3];
};

/* A packet to the CPU, as it lies in the ring buffer. Host order. */
struct softsai_copy {
	__u32 ifindex;
	__u32 egress; /* ifindex of the port that it leaves by; 0: unknown */
	__u32 trap;
	__u32 length; /* of the frame */
	__u32 captured;
	__u64 at; /* ns, CLOCK_MONOTONIC: when it came */
	__u8 data[SOFTSAI_SNAP];
};

/* Why a copy missed the ring buffer. */
enum softsai_lost { SOFTSAI_LOST_POLICED, SOFTSAI_LOST_RING, SOFTSAI_LOST_REASONS };

/* Metadata: attributes of every object, in chunks. Object 0 is the switch's own. */
struct softsai_meta_key {
	__u64 object;
	__u64 chunk;
};

#endif
