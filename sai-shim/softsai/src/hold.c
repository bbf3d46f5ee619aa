// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "hold.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "egress.h"
#include "egress.skel.h"
#include "log.h"
#include "slots.h"

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)

static struct entry {
	struct softsai_match match;
	bool used;
} entries[SOFTSAI_HOLDS];

static struct softsai_hold *records;
static uint32_t limit;
static int wake;
static uint16_t references[SOFTSAI_LINES + 1][SOFTSAI_STAGES]; /* holds that match there; the last row: at any port */
static pthread_mutex_t lock;				       /* of all above but the records */

#define ANY SOFTSAI_LINES
#define SIZE (SOFTSAI_HOLDS * sizeof(*records))

sai_status_t hold_open(uint32_t count, int eventfd)
{
	pthread_mutexattr_t attributes;
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(egress_programs()->maps.soft_holds),
			0);

	if (at == MAP_FAILED) {
		fail("flows cannot be held: %s", strerror(errno));
		return SAI_STATUS_FAILURE;
	}
	/* Threads with real-time priority wait for others here. */
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	memset(entries, 0, sizeof(entries));
	memset(references, 0, sizeof(references));
	wake = eventfd;
	limit = count;
	records = at;
	return SAI_STATUS_SUCCESS;
}

void hold_close(void)
{
	if (!records)
		return;
	munmap(records, SIZE);
	records = NULL;
	limit = 0;
	pthread_mutex_destroy(&lock);
}

static int matches(void)
{
	return bpf_map__fd(egress_programs()->maps.soft_matches);
}

static uint32_t stage_of(const struct softsai_match *m)
{
	return SOFTSAI_STAGE(m->kind, m->ifindex == 0);
}

/* Writes the stages at which holds match into a port's line. */
static sai_status_t tell(uint32_t line)
{
	uint32_t stages = 0;

	for (uint32_t s = 0; s < SOFTSAI_STAGES; s++)
		if (references[line][s] || references[ANY][s])
			stages |= 1U << s;
	return stages == slots_line_at(line)->stages ? SAI_STATUS_SUCCESS : slots_set_stages(line, stages);
}

sai_status_t hold_extend(uint32_t first)
{
	sai_status_t status = SAI_STATUS_SUCCESS;

	if (!records)
		return status;
	pthread_mutex_lock(&lock);
	for (uint32_t l = first; l < slots_lines() && !status; l++)
		status = tell(l);
	pthread_mutex_unlock(&lock);
	return status;
}

/* Counts a match at its stage, and notifies the ports. */
static sai_status_t refer(const struct softsai_match *m, int by)
{
	uint32_t stage = stage_of(m), first = 0, end = slots_lines();
	int line = m->ifindex ? slots_line(m->ifindex) : (int)ANY;
	sai_status_t status = SAI_STATUS_SUCCESS;

	references[line][stage] += by;
	if (line != ANY) {
		first = line;
		end = line + 1;
	}
	for (uint32_t l = first; l < end && !status; l++)
		status = tell(l);
	return status;
}

static void copy_address(__u64 to[2], const sai_ip_address_t *from)
{
	memcpy(to, &from->addr, from->addr_family ? sizeof(sai_ip6_t) : sizeof(sai_ip4_t));
}

/* Compiles the form that the program looks up; false: the match is invalid. */
static bool compile(uint32_t ifindex, const sai_sluice_match_t *match, struct softsai_match *m)
{
	static const uint32_t largest[] = {
		[SAI_SLUICE_MATCH_STREAM] = 0xffff,    [SAI_SLUICE_MATCH_LABEL] = 0xfffff,
		[SAI_SLUICE_MATCH_PAIR] = UINT32_MAX,  [SAI_SLUICE_MATCH_SESSION] = 0xffffff,
		[SAI_SLUICE_MATCH_TUPLE] = UINT32_MAX, [SAI_SLUICE_MATCH_CLASS] = SOFTSAI_QUEUES - 1,
	};

	memset(m, 0, sizeof(*m));
	if (match->type > SAI_SLUICE_MATCH_CLASS || match->value > largest[match->type])
		return false;
	m->ifindex = ifindex;
	m->kind = match->type;
	m->value = match->type == SAI_SLUICE_MATCH_PAIR ? 0 : match->value;
	if (match->type == SAI_SLUICE_MATCH_CLASS ||
	    (match->type == SAI_SLUICE_MATCH_STREAM && !match->source.addr_family))
		return true;
	m->ipv6 = match->source.addr_family != 0;
	m->protocol = match->type == SAI_SLUICE_MATCH_TUPLE ? match->protocol : 0;
	copy_address(m->source, &match->source);
	copy_address(m->destination, &match->destination);
	return match->source.addr_family == match->destination.addr_family &&
	       (m->ipv6 || match->type != SAI_SLUICE_MATCH_LABEL) &&
	       (match->type != SAI_SLUICE_MATCH_TUPLE || match->protocol == IPPROTO_TCP ||
		match->protocol == IPPROTO_UDP);
}

/* The number of a hold, or -1. */
static int find(const struct softsai_match *m)
{
	for (uint32_t i = 0; i < limit; i++)
		if (entries[i].used && memcmp(&entries[i].match, m, sizeof(*m)) == 0)
			return i;
	return -1;
}

static bool is_over(const struct softsai_hold *h, uint64_t now)
{
	return LOAD(h->until) <= now && LOAD(h->packets_in) == LOAD(h->packets_out);
}

/* Lets a match lead to a hold. */
static int publish(uint32_t number, const struct softsai_match *m)
{
	uint32_t found = SOFTSAI_HOLD_FOUND(number, (uint32_t)records[number].generation);

	return bpf_map_update_elem(matches(), m, &found, BPF_ANY);
}

/*
 * Forgets a hold that is over and drained. A program that found it before counts its packet and
 * looks at the generation, in this order; here both are in the other order, so one sees the other.
 */
static bool forget(uint32_t number, uint64_t now)
{
	struct softsai_hold *h = &records[number];
	struct entry *e = &entries[number];

	if (!e->used || !is_over(h, now))
		return false;
	bpf_map_delete_elem(matches(), &e->match);
	__atomic_store_n(&h->generation, (h->generation + 1) % SOFTSAI_HOLD_GENERATIONS, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!is_over(h, now)) {
		publish(number, &e->match);
		return false;
	}
	refer(&e->match, -1);
	__atomic_store_n(&e->used, false, __ATOMIC_RELEASE);
	return true;
}

/* A number without a hold, if need be that of the one that is over longest; -1: all hold. */
static int find_free(uint64_t now)
{
	int oldest = -1;

	for (uint32_t i = 0; i < limit; i++) {
		if (!entries[i].used)
			return i;
		if (is_over(&records[i], now) && (oldest < 0 || LOAD(records[i].until) < LOAD(records[oldest].until)))
			oldest = i;
	}
	return oldest >= 0 && forget(oldest, now) ? oldest : -1;
}

/* Its counts are those of this hold alone. */
static void begin(struct softsai_hold *h)
{
	STORE(h->octets, 0);
	STORE(h->packets, 0);
	STORE(h->dropped, 0);
}

static sai_status_t add(const struct softsai_match *m, uint64_t now, uint64_t until, uint64_t rate)
{
	int i = find_free(now);
	sai_status_t status;

	if (i < 0)
		return SAI_STATUS_TABLE_FULL;
	begin(&records[i]);
	STORE(records[i].rate, rate);
	STORE(records[i].until, until);
	if (publish(i, m))
		return SAI_STATUS_FAILURE;
	status = refer(m, 1);
	if (status) {
		refer(m, -1);
		bpf_map_delete_elem(matches(), m);
		return status;
	}
	entries[i].match = *m;
	STORE(entries[i].used, true);
	return SAI_STATUS_SUCCESS;
}

sai_status_t hold_set(uint32_t ifindex, const sai_sluice_match_t *match, uint64_t duration_ns, uint64_t rate)
{
	uint64_t now = slots_now(), until = duration_ns < UINT64_MAX - now ? now + duration_ns : UINT64_MAX;
	sai_status_t status = SAI_STATUS_SUCCESS;
	struct softsai_match m;
	int i;

	if (!records)
		return SAI_STATUS_NOT_SUPPORTED;
	if (!compile(ifindex, match, &m))
		return SAI_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	i = find(&m);
	if (i < 0) {
		status = duration_ns ? add(&m, now, until, rate) : SAI_STATUS_SUCCESS;
	} else {
		if (is_over(&records[i], now))
			begin(&records[i]);
		STORE(records[i].rate, rate);
		STORE(records[i].until, duration_ns ? until : 0);
	}
	pthread_mutex_unlock(&lock);
	eventfd_write(wake, 1);
	return status;
}

sai_status_t hold_get(uint32_t ifindex, const sai_sluice_match_t *match, sai_sluice_hold_t *state)
{
	sai_status_t status = SAI_STATUS_ITEM_NOT_FOUND;
	uint64_t now = slots_now();
	struct softsai_match m;
	int i;

	if (!records)
		return SAI_STATUS_NOT_SUPPORTED;
	if (!compile(ifindex, match, &m))
		return SAI_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	i = find(&m);
	if (i >= 0 && !is_over(&records[i], now)) {
		const struct softsai_hold *h = &records[i];
		uint64_t until = LOAD(h->until), packets_out = LOAD(h->packets_out), octets_out = LOAD(h->octets_out);

		*state = (sai_sluice_hold_t){
			.remaining_us = until > now ? (until - now + 999) / 1000 : 0,
			.rate = LOAD(h->rate),
			.octets = LOAD(h->octets),
			.packets = LOAD(h->packets),
			.waiting_octets = LOAD(h->octets_in) - octets_out,
			.waiting_packets = LOAD(h->packets_in) - packets_out,
			.dropped_packets = LOAD(h->dropped),
		};
		status = SAI_STATUS_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void hold_end_all(bool direct)
{
	uint64_t now = slots_now();

	if (!records)
		return;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < limit; i++)
		if (direct || LOAD(records[i].until) > now)
			STORE(records[i].until, direct ? 0 : now);
	for (uint32_t l = 0; direct && l < slots_lines(); l++)
		slots_set_stages(l, 0);
	pthread_mutex_unlock(&lock);
	eventfd_write(wake, 1);
}

struct softsai_hold *hold_record(uint32_t number)
{
	return __atomic_load_n(&entries[number].used, __ATOMIC_ACQUIRE) ? &records[number] : NULL;
}

uint32_t hold_limit(void)
{
	return limit;
}

bool hold_forget(uint32_t number)
{
	bool forgotten;

	/* The thread of holds does not wait: it has to show that it lives. */
	if (pthread_mutex_trylock(&lock))
		return false;
	forgotten = forget(number, slots_now());
	pthread_mutex_unlock(&lock);
	return forgotten;
}
