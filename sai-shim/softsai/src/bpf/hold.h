/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Holds at egress. A packet that a hold matches goes into the hold's queue, a
 * TAP, until the library's thread sends it by the port again. As long as one packet waits
 * there, those of its flow follow it, so their order stays.
 */
#ifndef SOFTSAI_HOLD_H
#define SOFTSAI_HOLD_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "device.h"
#include "flows.h"
#include "handover.h"
#include "label.h"
#include "slots.h"
#include "wire.h"

/* The netdevs of holds. Without one, as when its process has died, the entry is gone and nothing is held. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} soft_hold_taps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SOFTSAI_HOLDS);
	__type(key, struct softsai_match);
	__type(value, __u32); /* SOFTSAI_HOLD_FOUND */
} soft_matches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOFTSAI_HOLDS);
	__type(key, __u32);
	__type(value, struct softsai_hold);
} soft_holds SEC(".maps");

const volatile __u64 softsai_hold_octets;  /* that wait in one hold at most */
const volatile __u64 softsai_hold_frozen;  /* ns after which its thread counts as frozen */
const volatile __u64 softsai_hold_packets; /* as many as fit into the TAP's ring, which would drop silently */

__u32 softsai_stream_seed; /* of SAI_SWITCH_ATTR_STREAM_SEED, network order */
__u64 softsai_hold_cookie; /* of the socket that the thread of holds sends by */
__u64 softsai_hold_beat;   /* when the thread of holds was last seen alive, in ns of CLOCK_MONOTONIC */
__u32 softsai_hold_down; /* the netdev where packets wait was down as a packet was to go there; the library clears it */
__u64 softsai_hold_passed; /* packets that a hold matched and that went on, since none could be held */

/* A packet as flows and holds see it. */
struct flow {
	__u64 source[2], destination[2]; /* network order, of the outermost header; IPv4: the first 4 octets */
	__u64 from[2], to[2];		 /* the same of the session, where it has others */
	__u32 label;			 /* host order, as the rest */
	__u32 ports;			 /* source << 16 | destination */
	__u32 qp;			 /* DestQP; ~0: another packet than RoCEv2 */
	__u8 ipv6, proto;
	__u8 carries;		/* TCP or UDP, of which the ports are; 0: another protocol */
	__u8 inside, inside_v6; /* the session's addresses are from and to; they are IPv6 */
};

/* CRC-32 of IEEE 802.3, by four octets. */
static __always_inline __u32 crc_word(__u32 crc, __u32 word)
{
	crc ^= word;
	return softsai_crc[1][3][crc & 0xff] ^ softsai_crc[1][2][crc >> 8 & 0xff] ^
	       softsai_crc[1][1][crc >> 16 & 0xff] ^ softsai_crc[1][0][crc >> 24];
}

static __always_inline __u32 stream_id(const struct flow *f)
{
	__u32 crc = crc_word(0xffffffff, softsai_stream_seed);

	for (int i = 0; i < 2; i++)
		crc = crc_word(crc_word(crc, f->source[i]), f->source[i] >> 32);
	for (int i = 0; i < 2; i++)
		crc = crc_word(crc_word(crc, f->destination[i]), f->destination[i] >> 32);
	for (int shift = 16; shift >= 0; shift -= 8)
		crc = softsai_crc[1][0][(crc ^ f->label >> shift) & 0xff] ^ crc >> 8;
	crc = ~crc & 0xffff;
	return crc ? crc : 1;
}

/* Kinds, as enum sai_sluice_match has them. */
enum { MATCH_STREAM, MATCH_LABEL, MATCH_PAIR, MATCH_SESSION, MATCH_TUPLE, MATCH_CLASS };

/* Fills in the match of a hold of this kind for the packet; false: none can. */
static __always_inline bool match_of(const struct flow *f, __u32 kind, __u32 queue, struct softsai_match *m)
{
	m->kind = kind;
	m->value = queue;
	if (kind == MATCH_CLASS)
		return true;
	if ((kind == MATCH_SESSION || kind == MATCH_TUPLE) && f->inside) {
		m->ipv6 = f->inside_v6;
		for (int i = 0; i < 2; i++) {
			m->source[i] = f->from[i];
			m->destination[i] = f->to[i];
		}
	} else {
		m->ipv6 = f->ipv6 == 1;
		for (int i = 0; i < 2; i++) {
			m->source[i] = f->source[i];
			m->destination[i] = f->destination[i];
		}
	}
	m->protocol = kind == MATCH_TUPLE ? f->carries : 0;
	m->value = kind == MATCH_LABEL ? f->label : kind == MATCH_SESSION ? f->qp : kind == MATCH_TUPLE ? f->ports : 0;
	if (kind == MATCH_STREAM)
		m->value = stream_id(f);
	if (kind == MATCH_STREAM || kind == MATCH_LABEL)
		return f->ipv6 == 1;
	if (kind == MATCH_SESSION)
		return f->qp != ~0U;
	if (kind == MATCH_TUPLE)
		return f->carries != 0;
	return f->ipv6 != 2;
}

/* The hold of a match; of a Stream ID the one with the packet's addresses, or else the one without. */
/* conformance: draft-yang/exclusively */
static __always_inline __u32 *find_hold(struct softsai_match *m)
{
	__u32 *found = bpf_map_lookup_elem(&soft_matches, m);

	if (found || m->kind != MATCH_STREAM)
		return found;
	m->ipv6 = 0;
	for (int i = 0; i < 2; i++)
		m->source[i] = m->destination[i] = 0;
	return bpf_map_lookup_elem(&soft_matches, m);
}

/*
 * Whether nothing can be held: the thread of holds is frozen, so that holds would not end, or the
 * netdev where packets wait is down. New packets pass then, and those that wait are dropped when
 * it is over. The thread writes the beat before it looks at the clock; here
 * both are in the other order, so one of the two sees that the other was late.
 */
static __always_inline bool cannot_hold(void)
{
	__s64 now = bpf_ktime_get_ns();

	return now - *(volatile __s64 *)&softsai_hold_beat > (__s64)softsai_hold_frozen ||
	       *(volatile __u32 *)&softsai_hold_down;
}

enum { HOLD_NOT, HOLD_COUNTS, HOLD_WAITS, HOLD_FULL };

/*
 * Whether a packet of so many octets waits for the hold of this generation, which counts it;
 * HOLD_COUNTS: it does that only.
 */
static __always_inline __u32 held(struct softsai_hold *h, const __u32 *tap, __u32 generation, __u32 length,
				  __u32 packets)
{
	__u64 in = *(volatile __u64 *)&h->packets_in, out = *(volatile __u64 *)&h->packets_out;
	bool active = bpf_ktime_get_ns() < *(volatile __u64 *)&h->until;
	struct softsai_counts *c;

	if ((!active && in == out) || *(volatile __u64 *)&h->generation != generation)
		return HOLD_NOT;
	if (!is_up(tap))
		softsai_hold_down = 1;
	if (h->rate != ~0ULL && cannot_hold()) {
		__sync_fetch_and_add(&softsai_hold_passed, packets);
		return HOLD_NOT;
	}
	__sync_fetch_and_add(&h->octets, length);
	__sync_fetch_and_add(&h->packets, packets);
	if (h->rate == ~0ULL && in == out)
		return HOLD_COUNTS;
	c = counts();
	if (!c)
		return HOLD_NOT;
	if (in - out + packets > softsai_hold_packets || h->octets_in - h->octets_out + length > softsai_hold_octets) {
		__sync_fetch_and_add(&h->dropped, packets);
		__sync_fetch_and_add(&c->hold_queue_full, packets);
		return HOLD_FULL;
	}
	/* First: who ends all holds waits for the packets that are counted here. */
	__sync_fetch_and_add(&c->hold_queue_in, packets);
	__sync_fetch_and_add(&h->octets_in, length);
	__sync_fetch_and_add(&h->packets_in, packets);
	if (*(volatile __u64 *)&h->generation == generation)
		return HOLD_WAITS;
	/* Forgotten meanwhile: who forgot it either saw the count of here, and kept it, or the packet goes on. */
	__sync_fetch_and_sub(&h->packets_in, packets);
	__sync_fetch_and_sub(&h->octets_in, length);
	__sync_fetch_and_sub(&c->hold_queue_in, packets);
	return HOLD_NOT;
}

/* Sends the packet into a hold queue. It was counted, so it is dropped where it cannot go there. */
static __always_inline int into_hold_queue(struct __sk_buff *skb, __u32 tap, __u32 number,
					   const struct softsai_hold_head *head)
{
	if (bpf_skb_change_head(skb, sizeof(*head), 0) || bpf_skb_store_bytes(skb, 0, head, sizeof(*head), 0))
		return TC_ACT_SHOT;
	skb->tc_index = number;
	return bpf_redirect(tap, 0);
}

/* Chooses the queue of the TAP. */
SEC("socket")
int softsai_hold_queue(struct __sk_buff *skb)
{
	return skb->tc_index;
}

#endif
