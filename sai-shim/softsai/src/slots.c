// SPDX-License-Identifier: Apache-2.0
#include "slots.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "egress.h"
#include "egress.skel.h"
#include "filter.h"
#include "log.h"
#include "plane.h"
#include "qdisc.h"
#include "queue.h"

#define WORDS (SOFTSAI_SLOTS / 64)

static struct softsai_line *lines;
static struct softsai_slot *slots; /* NULL until flows are watched: 8 MiB */
static uint64_t *used;		   /* slots that may have octets */
static struct softsai_counts *counts;
static struct softsai_counts before; /* of an earlier process, until slots_open takes them */
static bool remembered;
static uint32_t line_count;
static uint64_t moved[SOFTSAI_LINES]; /* of each line when slots_reconcile last looked */
static bool attached;
/* For lines: marks and stages come from several threads. */
static pthread_mutex_t watching = PTHREAD_MUTEX_INITIALIZER;

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)

uint64_t slots_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void slots_remember(const uint32_t *ifindexes, size_t n)
{
	uint32_t zero = 0;
	int program, map = -ENOENT;

	if (remembered)
		return;
	remembered = true;
	for (size_t i = 0; i < n && map < 0; i++) {
		program = filter_find(ifindexes[i], BPF_TC_EGRESS, "softsai_egress");
		if (program < 0)
			continue;
		map = filter_map(program, "soft_counts");
		close(program);
	}
	if (map < 0)
		return;
	if (bpf_map_lookup_elem(map, &zero, &before))
		memset(&before, 0, sizeof(before));
	close(map);
}

#define LINES_SIZE (SOFTSAI_LINES * sizeof(*lines))
#define SLOTS_SIZE (SOFTSAI_SLOTS * sizeof(*slots))
#define USED_SIZE (WORDS * sizeof(*used))

/* A port's line has the number of its queues, and stays when the port leaves. */
static int describe_ports(const struct egress_bpf *programs)
{
	struct queue_port port;
	int err = 0;

	while (!err && line_count < SOFTSAI_LINES && queue_port(line_count, &port)) {
		uint32_t number = line_count + 1;

		lines[line_count].ifindex = port.ifindex;
		lines[line_count].limit = port.limit;
		err = bpf_map_update_elem(bpf_map__fd(programs->maps.soft_line_of), &port.ifindex, &number, BPF_ANY);
		__atomic_store_n(&line_count, number, __ATOMIC_RELEASE);
	}
	return err;
}

sai_status_t slots_extend(void)
{
	int err = lines ? describe_ports(egress_programs()) : 0;

	if (!err)
		return SAI_STATUS_SUCCESS;
	fail("flows cannot be watched in queues: %s", strerror(-err));
	return SAI_STATUS_FAILURE;
}

sai_status_t slots_open(void)
{
	struct egress_bpf *programs = egress_programs();
	int err;

	if (!programs || !egress_has_tracepoints())
		return SAI_STATUS_NOT_SUPPORTED;
	lines = map_memory(programs->maps.soft_lines, LINES_SIZE);
	used = map_memory(programs->maps.soft_used, USED_SIZE);
	counts = map_memory(programs->maps.soft_counts, sizeof(*counts));
	err = lines && used && counts ? describe_ports(programs) : -ENOMEM;
	if (err) {
		fail("flows cannot be watched in queues: %s", strerror(-err));
		slots_close();
		return SAI_STATUS_FAILURE;
	}
	if (before.hold_queue_in != before.hold_queue_out)
		warn("%llu packets waited in a hold queue when the process before was killed, and are lost",
		     (unsigned long long)(before.hold_queue_in - before.hold_queue_out));
	counts->hold_queue_lost = before.hold_queue_lost + before.hold_queue_in - before.hold_queue_out;
	memset(&before, 0, sizeof(before));
	remembered = false;
	return SAI_STATUS_SUCCESS;
}

void slots_close(void)
{
	struct egress_bpf *programs = egress_programs();

	for (uint32_t i = 0; i < line_count && lines; i++) {
		lines[i].watch = 0;
		lines[i].stages = 0;
	}
	plane_watch(false);
	if (programs) {
		bpf_link__destroy(programs->links.softsai_enqueue);
		bpf_link__destroy(programs->links.softsai_dequeue);
		programs->links.softsai_enqueue = programs->links.softsai_dequeue = NULL;
	}
	attached = false;
	unmap_memory(lines, LINES_SIZE);
	unmap_memory(slots, SLOTS_SIZE);
	unmap_memory(used, USED_SIZE);
	unmap_memory(counts, sizeof(*counts));
	lines = NULL;
	slots = NULL;
	used = NULL;
	counts = NULL;
	line_count = 0;
}

int slots_line(uint32_t ifindex)
{
	for (uint32_t i = 0; i < slots_lines(); i++)
		if (lines[i].ifindex == ifindex)
			return i;
	return -1;
}

struct softsai_line *slots_line_at(uint32_t number)
{
	return &lines[number];
}

uint32_t slots_lines(void)
{
	return LOAD(line_count);
}

struct softsai_counts *slots_counts(void)
{
	return counts;
}

static sai_status_t attach(void)
{
	struct egress_bpf *programs = egress_programs();

	if (attached)
		return SAI_STATUS_SUCCESS;
	if (!slots)
		__atomic_store_n(&slots, map_memory(programs->maps.soft_slots, SLOTS_SIZE), __ATOMIC_RELEASE);
	if (!slots) {
		fail("flows cannot be watched in queues: %s", strerror(errno));
		return SAI_STATUS_NO_MEMORY;
	}
	programs->links.softsai_enqueue = bpf_program__attach(programs->progs.softsai_enqueue);
	programs->links.softsai_dequeue = bpf_program__attach(programs->progs.softsai_dequeue);
	attached = programs->links.softsai_enqueue && programs->links.softsai_dequeue;
	if (attached)
		return SAI_STATUS_SUCCESS;
	fail("flows cannot be watched in queues: %s", strerror(errno));
	return SAI_STATUS_FAILURE;
}

sai_status_t slots_attach(void)
{
	sai_status_t status;

	pthread_mutex_lock(&watching);
	status = attach();
	pthread_mutex_unlock(&watching);
	return status;
}

/* Packets that wait in a port's queues are in no slot: the flows are counted behind them. */
static void begin(struct softsai_line *line)
{
	struct qdisc_stats stats;

	line->started = 0;
	line->epoch++;
	line->backlog = 0;
	for (uint32_t queue = 0; queue < SOFTSAI_QUEUES; queue++) {
		if (qdisc_stats(line->ifindex, queue, &stats))
			stats.backlog = 0; /* the first packet finds the port's backlog */
		line->in[queue] = line->since[queue] = line->out[queue] + stats.backlog;
		line->backlog += stats.backlog;
	}
}

static bool any_watched(void)
{
	for (uint32_t i = 0; i < line_count; i++)
		if (lines[i].watch)
			return true;
	return false;
}

/* Watches the flows of a port if it has marks or holds. */
static sai_status_t watch(struct softsai_line *line)
{
	uint32_t needed = line->stages != 0;
	sai_status_t status;

	for (int i = 0; i < SOFTSAI_QUEUES; i++)
		needed |= line->marks[i].high != 0;
	if (needed == line->watch)
		return SAI_STATUS_SUCCESS;
	status = needed ? attach() : SAI_STATUS_SUCCESS;
	if (status)
		return status;
	if (needed)
		begin(line);
	__atomic_store_n(&line->watch, needed, __ATOMIC_RELEASE);
	plane_watch(any_watched());
	return SAI_STATUS_SUCCESS;
}

sai_status_t slots_set_marks(uint32_t ifindex, uint32_t queue, uint32_t high, uint32_t low)
{
	int number = slots_line(ifindex);
	struct softsai_marks marks = { .high = high, .low = low };
	sai_status_t status;

	if (number < 0)
		return high ? SAI_STATUS_NOT_SUPPORTED : SAI_STATUS_SUCCESS;
	marks.alarm = high - high / 5;
	if (marks.alarm < low)
		marks.alarm = low;
	pthread_mutex_lock(&watching);
	lines[number].marks[queue] = marks;
	status = watch(&lines[number]);
	pthread_mutex_unlock(&watching);
	return status;
}

sai_status_t slots_set_stages(uint32_t line, uint32_t stages)
{
	sai_status_t status;

	pthread_mutex_lock(&watching);
	__atomic_store_n(&lines[line].stages, stages, __ATOMIC_RELEASE);
	status = watch(&lines[line]);
	pthread_mutex_unlock(&watching);
	return status;
}

const struct softsai_slot *slots_find(uint64_t digest)
{
	const struct softsai_slot *all = LOAD(slots);

	for (uint32_t probe = 0; probe < SOFTSAI_PROBES && all && digest; probe++) {
		const struct softsai_slot *s = &all[softsai_place(digest, probe)];
		uint64_t at = LOAD(s->digest);

		if (at == digest)
			return s;
		if (!at)
			break;
	}
	return NULL;
}

uint64_t slots_queued(const struct softsai_slot *s)
{
	const struct softsai_line *line = &lines[s->line];

	if (s->epoch != line->epoch + line->cleared || LOAD(line->out[s->queue & (SOFTSAI_QUEUES - 1)]) >= s->position)
		return 0;
	return LOAD(s->octets);
}

uint64_t slots_octets(const struct softsai_slot *s)
{
	return slots_queued(s) + LOAD(s->held);
}

static bool describe(const struct softsai_slot *s, uint32_t line, uint32_t queue, sai_sluice_flow_t *state)
{
	*state = (sai_sluice_flow_t){
		.flow = LOAD(s->digest), .octets = slots_octets(s), .departed = LOAD(s->departed), .at_ns = slots_now()
	};
	return state->octets && s->line == line && s->queue == queue;
}

sai_status_t slots_get(uint32_t ifindex, uint32_t queue, uint64_t flow, sai_sluice_flow_t *state)
{
	const struct softsai_slot *s = slots_find(flow);
	int line = slots_line(ifindex);

	if (line < 0)
		return SAI_STATUS_INVALID_OBJECT_ID;
	return s && describe(s, line, queue, state) && state->flow == flow ? SAI_STATUS_SUCCESS
									   : SAI_STATUS_ITEM_NOT_FOUND;
}

/* Calls the slots that may have octets; those that have none are looked at no more, until they have again. */
static void each_used(void (*call)(struct softsai_slot *s, void *arg), void *arg)
{
	for (uint32_t w = 0; w < WORDS; w++) {
		for (uint64_t bits = LOAD(used[w]); bits; bits &= bits - 1) {
			struct softsai_slot *s = &slots[w * 64 + __builtin_ctzll(bits)];
			uint64_t bit = bits & -bits;

			if (!slots_octets(s)) {
				__atomic_fetch_and(&used[w], ~bit, __ATOMIC_SEQ_CST);
				if (!slots_octets(s))
					continue;
				__atomic_fetch_or(&used[w], bit, __ATOMIC_SEQ_CST); /* it has again */
			}
			call(s, arg);
		}
	}
}

struct listing {
	uint32_t line, queue, room, count;
	sai_sluice_flow_t *flows;
};

static void add(struct softsai_slot *s, void *arg)
{
	struct listing *l = arg;
	sai_sluice_flow_t state;

	if (!describe(s, l->line, l->queue, &state))
		return;
	if (l->count < l->room)
		l->flows[l->count] = state;
	l->count++;
}

sai_status_t slots_list(uint32_t ifindex, uint32_t queue, uint32_t *count, sai_sluice_flow_t *flows)
{
	int line = slots_line(ifindex);
	struct listing l = { .line = line, .queue = queue, .room = flows ? *count : 0, .flows = flows };

	if (line < 0)
		return SAI_STATUS_INVALID_OBJECT_ID;
	each_used(add, &l);
	*count = l.count;
	return l.count > l.room ? SAI_STATUS_BUFFER_OVERFLOW : SAI_STATUS_SUCCESS;
}

void slots_leave_hold(uint32_t slot, uint32_t octets)
{
	if (slot < SOFTSAI_SLOTS)
		__atomic_fetch_sub(&slots[slot].held, octets, __ATOMIC_ACQ_REL);
}

void slots_enter_hold(uint32_t slot, uint32_t octets)
{
	if (slot < SOFTSAI_SLOTS)
		__atomic_fetch_add(&slots[slot].held, octets, __ATOMIC_ACQ_REL);
}

uint32_t slots_number(const struct softsai_slot *s)
{
	return s - slots;
}

const struct softsai_slot *slots_at(uint32_t slot)
{
	return slot < SOFTSAI_SLOTS ? &slots[slot] : NULL;
}

static void empty_hold(struct softsai_slot *s, void *arg)
{
	(void)arg;
	__atomic_store_n(&s->held, 0, __ATOMIC_RELEASE);
}

void slots_empty_holds(void)
{
	each_used(empty_hold, NULL);
}

static void note_line(struct softsai_slot *s, void *arg)
{
	if (slots_queued(s))
		((uint64_t *)arg)[s->line / 64] |= 1ULL << s->line % 64;
}

void slots_reconcile(void)
{
	uint64_t busy[SOFTSAI_LINES / 64] = {};
	struct qdisc_stats stats;

	if (!attached)
		return;
	each_used(note_line, busy);
	for (uint32_t i = 0; i < slots_lines(); i++) {
		uint64_t now = LOAD(lines[i].moved), backlog = 0;
		int err = 0;

		if (moved[i] != now || !(busy[i / 64] >> i % 64 & 1)) {
			moved[i] = now;
			continue;
		}
		for (uint32_t queue = 0; queue < SOFTSAI_QUEUES && !err; queue++) {
			err = qdisc_stats(lines[i].ifindex, queue, &stats);
			backlog += err ? 0 : stats.backlog;
		}
		if (!backlog && LOAD(lines[i].moved) == now) /* a reset, or the netdev is gone */
			__atomic_fetch_add(&lines[i].cleared, 1, __ATOMIC_ACQ_REL);
	}
}
