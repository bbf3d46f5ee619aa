/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Slots: how much of each queue a flow fills, counted where packets enter and leave the
 * qdisc, and events when it passes marks.
 *
 * A slot's octets have one writer, who has the qdisc's lock. Calls of the tracepoints can be
 * missed, so a count heals itself: the port was empty since (epoch), or the queue, which is a
 * FIFO, has moved past the flow's last packet (position).
 */
#ifndef SOFTSAI_SLOTS_H
#define SOFTSAI_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "flows.h"
#include "softsai.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOFTSAI_PORTS);
	__type(key, __u32);
	__type(value, __u32); /* number of the port's line + 1 */
} soft_line_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOFTSAI_LINES);
	__type(key, __u32);
	__type(value, struct softsai_line);
} soft_lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOFTSAI_SLOTS);
	__type(key, __u32);
	__type(value, struct softsai_slot);
} soft_slots SEC(".maps");

/* Slots that may have octets, as bits: set here, cleared by the library. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOFTSAI_SLOTS / 64);
	__type(key, __u32);
	__type(value, __u64);
} soft_used SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct softsai_counts);
} soft_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} soft_events SEC(".maps");

/* Of the ingress program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SOFTSAI_ARRIVALS);
	__type(key, __u32);
	__type(value, struct softsai_arrival);
} soft_arrivals SEC(".maps");

/* A test build drops calls and events at random: one of so many. */
#ifndef SOFTSAI_DROP_CALLS
#define SOFTSAI_DROP_CALLS 0
#endif

static __always_inline bool dropped(void)
{
	return SOFTSAI_DROP_CALLS && bpf_get_prandom_u32() % (SOFTSAI_DROP_CALLS ?: 1) == 0;
}

static __always_inline struct softsai_line *line_of(__u32 ifindex, __u32 *number)
{
	__u32 *n = bpf_map_lookup_elem(&soft_line_of, &ifindex);

	if (!n || !*n)
		return NULL;
	*number = *n - 1;
	return bpf_map_lookup_elem(&soft_lines, number);
}

static __always_inline struct softsai_counts *counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&soft_counts, &zero);
}

/* The known octets of the flow in the queue are void. */
static __always_inline bool over(const struct softsai_slot *s, const struct softsai_line *line)
{
	return s->epoch != line->epoch + line->cleared || line->out[s->queue & (SOFTSAI_QUEUES - 1)] >= s->position;
}

/* Takes an empty slot for another flow; false: another CPU took it before. */
static __always_inline bool claim(struct softsai_slot *s, __u64 before, __u64 digest, __u32 line, __u32 queue)
{
	if (__sync_val_compare_and_swap(&s->digest, before, digest) != before)
		return false;
	s->octets = 0;
	s->held = 0;
	s->departed = 0;
	s->position = 0;
	s->told = 0;
	s->in_port = 0;
	s->line = line;
	s->queue = queue;
	s->above = 0;
	return true;
}

/* Whether a slot of whatever port has octets. */
static __always_inline bool vacant(const struct softsai_slot *s)
{
	__u32 number = s->line;
	struct softsai_line *line;

	if (s->held)
		return false;
	if (!s->octets)
		return true;
	line = bpf_map_lookup_elem(&soft_lines, &number);
	return !line || over(s, line);
}

/* The flow's slot, or a vacant one, or NULL; and where. Two passes: a claim is rare. */
static __always_inline struct softsai_slot *find_slot(__u64 digest, __u32 *at)
{
	struct softsai_slot *s;

	for (__u32 probe = 0; probe < SOFTSAI_PROBES; probe++) {
		*at = softsai_place(digest, probe);
		s = bpf_map_lookup_elem(&soft_slots, at);
		if (!s || s->digest == digest)
			return s;
		if (!s->digest)
			break; /* the flow would have taken this one */
	}
	return NULL;
}

static __always_inline struct softsai_slot *claim_slot(__u64 digest, __u32 line, __u32 queue, __u32 *at)
{
	struct softsai_slot *s;

	for (__u32 probe = 0; probe < SOFTSAI_PROBES; probe++) {
		__u64 before;

		*at = softsai_place(digest, probe);
		s = bpf_map_lookup_elem(&soft_slots, at);
		if (!s)
			return NULL;
		before = *(volatile __u64 *)&s->digest;
		if ((!before || vacant(s)) && claim(s, before, digest, line, queue))
			return s;
	}
	return NULL;
}

/* Lets the library find the slot. */
static __always_inline void use(__u32 at)
{
	__u32 word = at / 64;
	__u64 bit = 1ULL << at % 64, *w = bpf_map_lookup_elem(&soft_used, &word);

	if (w && !(*(volatile __u64 *)w & bit))
		__sync_fetch_and_or(w, bit);
}

/* An event with all but its head. arrival is the place of the packet's; 0: it has none. */
static __always_inline struct softsai_event *raise(struct softsai_slot *s, __u64 octets, __u32 ifindex, __u32 arrival,
						   __u32 mark, __u64 now)
{
	struct softsai_arrival *a = NULL, *next = NULL;
	struct softsai_counts *c = counts();
	struct softsai_event *e = NULL;

	if (!dropped())
		e = bpf_ringbuf_reserve(&soft_events, sizeof(*e), 0);
	if (!e) {
		if (c)
			__sync_fetch_and_add(&c->events_lost, 1);
		return NULL;
	}
	if (c)
		__sync_fetch_and_add(&c->events, 1);
	e->digest = s->digest;
	e->octets = octets;
	e->at = now;
	e->ifindex = ifindex;
	e->in_port = s->in_port;
	e->queue = s->queue;
	e->mark = mark;
	e->packet = 0;
	e->length = 0;
	if (arrival) {
		__u32 first = 0;

		next = bpf_map_lookup_elem(&soft_arrivals, &first);
		a = bpf_map_lookup_elem(&soft_arrivals, &arrival);
	}
	e->arrival.known = 0;
	if (a && next && next->turn - a->turn <= SOFTSAI_POLL) {
		e->arrival = *a;
		e->arrival.known = 1;
	}
	return e;
}

enum { MARK_LOW, MARK_ALARM, MARK_HIGH, MARK_NONE };

/* Octets that a queue still takes. */
static __always_inline __u64 room_left(const struct softsai_line *line, __u32 queue)
{
	__u64 in = line->in[queue & (SOFTSAI_QUEUES - 1)], out = line->out[queue & (SOFTSAI_QUEUES - 1)];
	__u64 waits = in > out ? in - out : 0;

	if (!line->limit)
		return ~0ULL;
	return waits < line->limit ? line->limit - waits : 0;
}

/*
 * The mark that a flow has passed with these octets; MARK_NONE: none, or its event was sent.
 * The high
 * mark comes down to the room that the queue has left (the dynamic threshold of Choudhury and
 * Hahne, 1998, alpha 1): a queue that fills raises the flows that fill it, before it drops.
 */
static __always_inline __u32 passed(struct softsai_slot *s, const struct softsai_line *line, __u32 queue, __u64 octets,
				    __u64 *now)
{
	const struct softsai_marks *m = &line->marks[queue & (SOFTSAI_QUEUES - 1)];
	__u64 high = m->high, left;

	if (!high)
		return MARK_NONE;
	left = room_left(line, queue);
	if (left < high)
		high = left;
	if (octets > high) {
		*now = bpf_ktime_get_ns();
		return !(s->above & SOFTSAI_ABOVE_HIGH) || *now - s->told >= SOFTSAI_REPEAT ? MARK_HIGH : MARK_NONE;
	}
	if (octets > m->alarm && !s->above) {
		*now = bpf_ktime_get_ns();
		return MARK_ALARM;
	}
	if (octets < m->low && s->above) {
		*now = bpf_ktime_get_ns();
		if (s->above & SOFTSAI_ABOVE_HIGH)
			return MARK_LOW;
		s->above = 0;
	}
	return MARK_NONE;
}

/* The event was raised: an event that found no room is tried again with the next packet. */
static __always_inline void told(struct softsai_slot *s, __u32 mark, __u64 now)
{
	s->told = now;
	if (mark == MARK_LOW)
		s->above = 0;
	else
		s->above |= mark == MARK_HIGH ? SOFTSAI_ABOVE_HIGH | SOFTSAI_ABOVE_ALARM : SOFTSAI_ABOVE_ALARM;
}

#endif
