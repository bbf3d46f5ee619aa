// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "hold_queue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/handover.h"
#include "egress.h"
#include "egress.skel.h"
#include "hold.h"
#include "log.h"
#include "pace.h"
#include "reader.h"
#include "slots.h"
#include "tap.h"

#define MS 1000000ULL /* in ns, as all times here */
#define FRAME 65536
#define BATCH 32	   /* packets of a hold before others have their turn */
#define IN_QUEUE 16384	   /* octets of a flow in its port's queue: more wait here, where a new hold stops them */
#define RETRY (MS / 5)	   /* until a full queue is tried again */
#define BURST (2 * MS)	   /* time that a rate makes up for after the thread was late */
#define LINGER (200 * MS)  /* a hold that is over is kept for, since it often comes again */
#define MISSING (100 * MS) /* after which packets missing in a hold queue are lost */
#define TURN (5 * MS)	   /* of sending, after which threads of lower priority have theirs */
#define PAUSE (MS / 20)
#define DOWN (5 * MS)	     /* that a port takes nothing after it was seen down: as it comes up, it loses packets */
#define BEAT (25 * MS)	     /* at least so often the thread shows that it lives */
#define ORDERLY (2000 * MS)  /* that hold_queues_close sends in order; then new packets may pass waiting ones */
#define PATIENCE (8000 * MS) /* of hold_queues_close in all */

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)

/* State of a hold's queue in the thread. */
static struct place {
	uint8_t *frame;	  /* that waits to be sent, with its head */
	uint32_t length;  /* 0: none */
	uint64_t rate;	  /* as the thread saw it last */
	uint64_t next;	  /* when the rate lets the next one pass */
	uint64_t over;	  /* since when it is empty; 0: it is in force */
	uint64_t missing; /* since when counted packets are missing */
	uint64_t stale;	  /* packets up to this one waited while the thread was frozen */
	int line;	  /* of the port that its packets leave by; -1: none was seen */
} places[SOFTSAI_HOLDS];

/* State of ended holds at a port. */
static struct ended {
	uint64_t waiting; /* octets */
	uint64_t looked;  /* when that was so */
	uint32_t oldest;  /* the hold that ended first */
} ended[SOFTSAI_LINES];

static struct pace paces[SOFTSAI_LINES];
static uint64_t down[SOFTSAI_LINES]; /* until when a port takes nothing */

static struct tap tap = { .sender = -1, .guard = -1 };
static pthread_t thread;
static int wake = -1;
static atomic_bool ending;
static bool running;
static int priority;	  /* of the thread: SCHED_FIFO; 0: none */
static bool lost;	  /* packets got lost in a hold queue: slots have octets there that never leave */
static uint64_t *beat;	  /* read by the programs; written by this thread alone */
static uint64_t frozen;	  /* ns after which the thread counts as frozen */
static uint32_t *is_down; /* the TAP is; set by the program that sees it, cleared by hold_queues_mend */

/*
 * Shows the programs that the thread lives. After it was frozen, or while the TAP is down, new
 * packets have passed those that wait: they are not to be sent any more.
 */
static uint64_t alive(void)
{
	uint64_t now = slots_now(), before = __atomic_exchange_n(beat, now, __ATOMIC_SEQ_CST);

	if (slots_now() - before <= frozen && !LOAD(*is_down))
		return now;
	for (uint32_t i = 0; i < hold_limit(); i++) {
		const struct softsai_hold *h = hold_record(i);

		if (h)
			places[i].stale = LOAD(h->packets_in);
	}
	return now;
}

/* A hold that ended without a resume of its neighbor. */
static bool is_ended(const struct softsai_hold *h, uint64_t now)
{
	uint64_t until = LOAD(h->until);

	return until && until <= now;
}

/* A frame is in its hold queue no longer. */
static void count_out(struct place *p, struct softsai_hold *h)
{
	uint32_t octets = p->length - sizeof(struct softsai_hold_head);

	STORE(h->octets_out, h->octets_out + octets);
	STORE(h->packets_out, h->packets_out + 1);
	STORE(slots_counts()->hold_queue_out, slots_counts()->hold_queue_out + 1);
	p->length = 0;
}

/* A frame leaves by its port. */
static void leave(struct place *p, struct softsai_hold *h, uint64_t now)
{
	uint32_t octets = p->length - sizeof(struct softsai_hold_head);

	if (p->line >= 0 && is_ended(h, now))
		pace_take(&paces[p->line], now, ended[p->line].waiting, octets);
	else if (p->line >= 0)
		pace_measure(&paces[p->line], now, octets);
	count_out(p, h);
}

static void drop(struct place *p, struct softsai_hold *h, __u64 *count)
{
	const struct softsai_hold_head *head = (const void *)p->frame;

	slots_leave_hold(head->slot, p->length - sizeof(*head));
	__atomic_fetch_add(&h->dropped, 1, __ATOMIC_ACQ_REL);
	__atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
	count_out(p, h);
}

/* Takes the next frame out of the TAP; a frame that the egress program did not send is skipped. */
static int fetch(struct place *p, uint32_t number)
{
	const struct softsai_hold_head *head;
	int n;

	if (!p->frame)
		p->frame = malloc(FRAME + sizeof(*head));
	if (!p->frame)
		return -ENOMEM;
	head = (const void *)p->frame;
	do {
		n = tap_read(&tap, number, p->frame, FRAME + sizeof(*head));
	} while (n >= 0 && (n <= (int)sizeof(*head) || head->type != htons(SOFTSAI_HOLD_TYPE)));
	if (n < 0)
		return n;
	p->length = n;
	p->line = slots_line(head->ifindex);
	return 0;
}

/* Looks which of the ended holds at a port ended first, and how much waits in them. */
static void look(int line, uint64_t now)
{
	struct ended *e = &ended[line];
	uint64_t first = UINT64_MAX;

	e->looked = now;
	e->waiting = 0;
	for (uint32_t i = 0; i < hold_limit(); i++) {
		const struct softsai_hold *h = hold_record(i);

		if (!h || places[i].line != line || !is_ended(h, now) || LOAD(h->packets_in) == h->packets_out)
			continue;
		e->waiting += LOAD(h->octets_in) - h->octets_out;
		if (h->until < first) {
			first = h->until;
			e->oldest = i;
		}
	}
}

/*
 * When a packet of an ended hold may leave. Holds that end together would overrun the queue that
 * they were for: they drain one after the other, at the rate at which that queue takes packets.
 * A class that PFC paused goes on at once, as at a port.
 */
static uint64_t paced(uint32_t number, uint64_t now)
{
	const struct place *p = &places[number];
	const struct softsai_hold_head *head = (const void *)p->frame;
	struct ended *e;
	uint64_t at;

	if (p->line < 0 || head->stage >= SOFTSAI_STAGE(SAI_SLUICE_MATCH_CLASS, 0))
		return now;
	e = &ended[p->line];
	if (now - e->looked >= MS)
		look(p->line, now);
	at = pace_at(&paces[p->line], now, e->waiting);
	if (at <= now && e->oldest != number && paces[p->line].deadline > now)
		return now + RETRY;
	return at;
}

/* Whether the port's queue has enough of the flow, or in all. */
static bool crowded(const struct place *p)
{
	const struct softsai_hold_head *head = (const void *)p->frame;
	const struct softsai_slot *s = slots_at(head->slot);
	int number = slots_line(head->ifindex);
	const struct softsai_line *line;
	uint64_t backlog;

	if (number < 0)
		return false;
	line = slots_line_at(number);
	if (!line->watch) /* as hold_queues_close does in the end, uncounted */
		return false;
	if (s && slots_queued(s) >= IN_QUEUE)
		return true;
	backlog = LOAD(line->in[head->queue & 7]) - LOAD(line->out[head->queue & 7]);
	return backlog && backlog + p->length > line->limit;
}

/*
 * Sends a frame by its port. While that goes down, or comes up, and without a carrier, the kernel
 * drops packets and reports none of it: the port's state afterward is what counts.
 */
static int send_frame(const struct place *p, uint64_t now)
{
	const struct softsai_hold_head *head = (const void *)p->frame;
	uint32_t mark = SOFTSAI_RELEASED | (uint32_t)head->stage << SOFTSAI_RELEASED_STAGE_SHIFT | head->queue,
		 octets = p->length - sizeof(*head);
	int err;

	slots_leave_hold(head->slot, octets);
	if (p->line >= 0 && now < down[p->line])
		return -ENETDOWN;
	err = tap_send(&tap, head->ifindex, head + 1, octets, mark);
	if (!err && !tap_port_runs(&tap, head->ifindex)) {
		err = -ENETDOWN;
		if (p->line >= 0)
			down[p->line] = now + DOWN;
	}
	if (err == -EAGAIN || err == -ENOBUFS)
		slots_enter_hold(head->slot, octets);
	return err;
}

/* Packets were counted into a hold queue and are not there: on their way, or lost. */
static uint64_t await(struct place *p, struct softsai_hold *h, uint64_t now)
{
	uint64_t in = LOAD(h->packets_in), n = in - h->packets_out;

	if (!p->missing)
		p->missing = now;
	if (now - p->missing < MISSING)
		return now + (now - p->missing < MS ? PAUSE : MS);
	warn("%llu packets were lost on their way into a hold queue", (unsigned long long)n);
	p->missing = 0;
	lost = true;
	STORE(h->octets_out, LOAD(h->octets_in));
	STORE(h->packets_out, in);
	STORE(slots_counts()->hold_queue_out, slots_counts()->hold_queue_out + n);
	__atomic_fetch_add(&slots_counts()->hold_queue_lost, n, __ATOMIC_ACQ_REL);
	return now;
}

/* The queue is empty: when the thread has to serve the hold again. */
static uint64_t idle(struct place *p, uint32_t number, uint64_t now, uint64_t until)
{
	p->missing = 0;
	if (until > now) {
		p->over = 0;
		return until;
	}
	if (!p->over)
		p->over = now;
	if (now < p->over + LINGER)
		return p->over + LINGER;
	if (!hold_forget(number))
		return now + RETRY;
	free(p->frame);
	*p = (struct place){ .line = -1 };
	return UINT64_MAX;
}

/* Octets that one hold lets pass now. Returns when it is to be served again; *more: packets may arrive before. */
static uint64_t serve(uint32_t number, struct softsai_hold *h, uint64_t now, bool *more)
{
	uint64_t until = LOAD(h->until), rate = LOAD(h->rate), sent;
	struct place *p = &places[number];
	bool active = now < until;
	int err;

	if (p->rate != rate)
		p->next = 0;
	p->rate = rate;
	for (int i = 0; i < BATCH; i++) {
		bool stale = h->packets_out < p->stale;

		if (active && !rate && !stale) {
			p->over = 0;
			return until;
		}
		if (LOAD(h->packets_in) == h->packets_out) {
			*more = active && rate != HOLD_COUNT;
			return idle(p, number, now, until);
		}
		p->over = 0;
		if (active && rate != HOLD_COUNT && p->next > now && !stale)
			return p->next < until ? p->next : until;
		err = p->length ? 0 : fetch(p, number);
		if (err)
			return await(p, h, now);
		p->missing = 0;
		if (stale) {
			drop(p, h, &slots_counts()->hold_queue_stale);
			continue;
		}
		if (crowded(p))
			return now + RETRY;
		if (until && !active) {
			uint64_t at = paced(number, now);

			if (at > now)
				return at;
		}
		sent = alive(); /* the pace of a port goes by one time a turn, which all its holds have */
		if (h->packets_out < p->stale)
			continue;
		err = send_frame(p, sent);
		if (err == -EAGAIN || err == -ENOBUFS)
			return now + RETRY;
		if (err) { /* the port is down, or gone */
			__atomic_fetch_add(&h->dropped, 1, __ATOMIC_ACQ_REL);
			__atomic_fetch_add(&slots_counts()->hold_queue_lost, 1, __ATOMIC_ACQ_REL);
		}
		if (active && rate != HOLD_COUNT) {
			uint64_t octets = p->length - sizeof(struct softsai_hold_head);

			if (p->next + BURST < now)
				p->next = now - BURST;
			p->next += octets * 8 * 1000 * MS / rate;
		}
		leave(p, h, now);
	}
	return now;
}

static uint64_t serve_all(struct pollfd *fds, nfds_t *n)
{
	uint64_t now = alive(), next = now + BEAT, at;
	bool waiting = false;

	*n = 1;
	for (uint32_t i = 0; i < hold_limit(); i++) {
		struct softsai_hold *h = hold_record(i);
		bool more = false;

		if (!h)
			continue;
		at = serve(i, h, now, &more);
		waiting = waiting || LOAD(h->packets_in) != h->packets_out;
		if (more)
			fds[(*n)++] = (struct pollfd){ .fd = tap.queues[i], .events = POLLIN };
		if (at < next)
			next = at;
	}
	if (lost && !waiting) {
		slots_empty_holds();
		lost = false;
	}
	return next;
}

static void *run(void *arg)
{
	static struct pollfd fds[SOFTSAI_HOLDS + 1];
	uint64_t turn = slots_now();

	(void)arg;
	prctl(PR_SET_TIMERSLACK, 1UL);
	fds[0] = (struct pollfd){ .fd = wake, .events = POLLIN };
	while (!atomic_load(&ending)) {
		nfds_t n;
		uint64_t next = serve_all(fds, &n), now = slots_now(), wait = next > now ? next - now : 0;
		struct timespec time;
		eventfd_t count;

		if (!wait && now - turn < TURN)
			continue;
		if (!wait)
			wait = PAUSE;
		time = (struct timespec){ wait / (1000 * MS), wait % (1000 * MS) };
		if (ppoll(fds, n, &time, NULL) > 0 && fds[0].revents)
			eventfd_read(wake, &count);
		turn = slots_now();
	}
	return NULL;
}

/* It works for ms in one go: decisions about holds go before it. */
static int below(int realtime)
{
	return realtime > 1 ? realtime - 1 : realtime;
}

/* Makes the TAP. */
static int open_tap(uint32_t holds)
{
	struct egress_bpf *programs = egress_programs();
	const char *what;
	int err = tap_open(&tap, holds, SOFTSAI_HOLD_RING, bpf_program__fd(programs->progs.softsai_hold_queue), &what);

	if (err) {
		warn("flows cannot be held: %s: %s", what, strerror(-err));
		return err;
	}
	programs->bss->softsai_hold_cookie = tap.cookie;
	programs->bss->softsai_hold_beat = slots_now();
	beat = (uint64_t *)&programs->bss->softsai_hold_beat;
	frozen = programs->rodata->softsai_hold_frozen;
	is_down = &programs->bss->softsai_hold_down;
	STORE(*is_down, 0);
	return 0;
}

/* From here on packets find the hold queues. */
static int announce(void)
{
	int map = bpf_map__fd(egress_programs()->maps.soft_hold_taps), err;
	uint32_t place = SOFTSAI_HOLD_TAP, guard = SOFTSAI_HOLD_GUARD;

	err = bpf_map_update_elem(map, &guard, &tap.guard_ifindex, BPF_ANY);
	if (!err)
		err = bpf_map_update_elem(map, &place, &tap.ifindex, BPF_ANY);
	if (err)
		fail("flows cannot be held: %s", strerror(-err));
	return err;
}

static int start_thread(void)
{
	atomic_store(&ending, false);
	return thread_start(&thread, run, NULL, priority, "holds");
}

static void stop_thread(void)
{
	atomic_store(&ending, true);
	eventfd_write(wake, 1);
	pthread_join(thread, NULL);
}

sai_status_t hold_queues_open(uint32_t holds, int realtime)
{
	if (!holds || open_tap(holds))
		return SAI_STATUS_NOT_SUPPORTED;
	memset(places, 0, sizeof(places));
	for (size_t i = 0; i < SOFTSAI_HOLDS; i++)
		places[i].line = -1;
	memset(paces, 0, sizeof(paces));
	memset(down, 0, sizeof(down));
	memset(ended, 0, sizeof(ended));
	lost = false;
	priority = below(realtime);
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake < 0 || hold_open(holds, wake) || start_thread())
		goto fail;
	running = true;
	if (!announce())
		return SAI_STATUS_SUCCESS;
fail:
	hold_queues_close();
	return SAI_STATUS_FAILURE;
}

/* Whether the programs find the netdev of a place. */
static bool announced(uint32_t place, uint32_t ifindex)
{
	uint32_t there = 0;

	return !bpf_map_lookup_elem(bpf_map__fd(egress_programs()->maps.soft_hold_taps), &place, &there) &&
	       there == ifindex;
}

static bool is_there(void)
{
	return announced(SOFTSAI_HOLD_TAP, tap.ifindex) && announced(SOFTSAI_HOLD_GUARD, tap.guard_ifindex);
}

void hold_queues_audit(struct drift_list *l)
{
	if (!running)
		return;
	if (!is_there()) {
		drift_add(l, HOLD_PART, TAP_NETDEV "0", true, "it is gone: nothing is held");
	} else if (LOAD(*is_down) || !tap_is_up(&tap)) {
		STORE(*is_down, 1); /* no packet may have met it so far */
		drift_add(l, HOLD_PART, TAP_NETDEV "0", true, "it is down: nothing is held");
	}
}

uint64_t hold_queues_passed(void)
{
	return egress_programs() ? LOAD(egress_programs()->bss->softsai_hold_passed) : 0;
}

/* What waits is lost with the TAP. */
static void lose_all(void)
{
	for (uint32_t i = 0; i < hold_limit(); i++) {
		struct softsai_hold *h = hold_record(i);
		uint64_t in = h ? LOAD(h->packets_in) : 0, n = h ? in - h->packets_out : 0;

		places[i].length = 0;
		if (!n)
			continue;
		STORE(h->octets_out, LOAD(h->octets_in));
		STORE(h->packets_out, in);
		STORE(slots_counts()->hold_queue_out, slots_counts()->hold_queue_out + n);
		__atomic_fetch_add(&slots_counts()->hold_queue_lost, n, __ATOMIC_ACQ_REL);
	}
	slots_empty_holds();
}

/* Makes the TAP again. Meanwhile packets go directly. */
static int make_again(void)
{
	int map = bpf_map__fd(egress_programs()->maps.soft_hold_taps), err;
	uint32_t place = SOFTSAI_HOLD_TAP, count = tap.count;

	bpf_map_delete_elem(map, &place);
	stop_thread();
	lose_all();
	tap_close(&tap);
	err = open_tap(count);
	if (!err)
		err = start_thread();
	running = !err;
	return err ? err : announce();
}

int hold_queues_mend(void)
{
	int err;

	if (!running)
		return -ENODEV;
	if (!is_there())
		return make_again();
	err = tap_up(&tap);
	if (!err)
		STORE(*is_down, 0);
	return err;
}

/*
 * Waits until nothing is in a hold queue, nor on its way: a program that saw a hold before it ended
 * has counted its packet by the second look.
 */
static bool drained(uint64_t patience)
{
	struct timespec step = { 0, MS };
	uint64_t before = UINT64_MAX;

	for (uint64_t end = slots_now() + patience; slots_now() < end; nanosleep(&step, NULL)) {
		uint64_t in = LOAD(slots_counts()->hold_queue_in);
		bool empty = in == LOAD(slots_counts()->hold_queue_out);

		if (empty && in == before)
			return true;
		before = empty ? in : UINT64_MAX;
	}
	return false;
}

void hold_queues_close(void)
{
	if (running) {
		hold_end_all(false);
		if (!drained(ORDERLY)) {
			hold_end_all(true);
			if (!drained(PATIENCE))
				warn("%llu packets still waited in a hold queue, and are lost",
				     (unsigned long long)(slots_counts()->hold_queue_in -
							  slots_counts()->hold_queue_out));
		}
		hold_end_all(true);
		stop_thread();
	}
	running = false;
	hold_close();
	tap_close(&tap);
	if (wake >= 0)
		close(wake);
	wake = -1;
	for (size_t i = 0; i < SOFTSAI_HOLDS; i++)
		free(places[i].frame);
	memset(places, 0, sizeof(places));
}
