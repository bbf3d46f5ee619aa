// SPDX-License-Identifier: Apache-2.0
#include "flows.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/flows.h"
#include "egress.h"
#include "egress.skel.h"
#include "hold.h"
#include "log.h"
#include "object.h"
#include "plane.h"
#include "queue.h"
#include "reader.h"
#include "session.h"
#include "slots.h"
#include "storm.h"

#define TICK SOFTSAI_REPEAT   /* ns between reads of the flows above their mark */
#define RECONCILE 10000000ULL /* ns between checks of queues that do not move */
#define WARN 60000000000ULL   /* ns between warnings of PFC without an end */
#define ABOVE 8192	      /* flows that are read again; beyond that the programs' events suffice */

/* A flow above its high mark, with its last event. */
struct above {
	sai_sluice_flow_event_t event;
	uint32_t slot; /* number */
	uint64_t told; /* when */
};

static struct reader reader = { .what = "events of flows", .tick = NULL };
static struct above *above;
static uint16_t *places; /* in above, plus 1, by the number of the flow's slot */
static uint32_t above_count;
static uint64_t reconciled;				   /* when */
static struct storm storms[SOFTSAI_LINES][SOFTSAI_QUEUES]; /* by the number of the port */
static uint64_t ignored;				   /* PFC frames, since the neighbor pauses without an end */
static uint64_t warned;					   /* when; 0: never */
static sai_object_id_t switch_id;
static sai_sluice_flow_event_notification_fn notify;
/* Held while notify is called, so that no call comes after it was taken back. */
static pthread_mutex_t notifying = PTHREAD_MUTEX_INITIALIZER;

static void raise(const sai_sluice_flow_event_t *e)
{
	pthread_mutex_lock(&notifying);
	if (notify)
		notify(switch_id, 1, e);
	pthread_mutex_unlock(&notifying);
}

static struct above *find(uint32_t slot)
{
	return places[slot] ? &above[places[slot] - 1] : NULL;
}

static void forget(struct above *a)
{
	places[a->slot] = 0;
	*a = above[--above_count];
	if (a < above + above_count)
		places[a->slot] = a - above + 1;
}

/* Remembers a flow that passed its high mark until it falls below the low one. */
static void remember(const sai_sluice_flow_event_t *e, uint64_t now)
{
	const struct softsai_slot *s = slots_find(e->flow);
	uint32_t slot = s ? slots_number(s) : 0;
	struct above *a = s ? find(slot) : NULL;
	sai_sluice_flow_event_t before;

	if (!s)
		return;
	if (e->mark == SAI_SLUICE_FLOW_MARK_LOW) {
		if (a)
			forget(a);
		return;
	}
	if (e->mark != SAI_SLUICE_FLOW_MARK_HIGH)
		return;
	if (!a && above_count < ABOVE) {
		a = &above[above_count++];
		a->event.arrival.known = 0;
		places[slot] = above_count;
	}
	if (!a)
		return;
	before = a->event;
	*a = (struct above){ .event = *e, .slot = slot, .told = now };
	if (before.flow == e->flow && before.arrival.known && !e->arrival.known) { /* as of a packet that leaves */
		a->event.arrival = before.arrival;
		a->event.in_port_id = before.in_port_id;
	}
}

static int deliver(void *context, void *data, size_t size)
{
	const struct softsai_event *from = data;
	sai_sluice_flow_event_t e;
	sai_sluice_arrival_t arrival;
	uint32_t in_port;

	(void)context;
	if (size < sizeof(*from) || from->length > SOFTSAI_EVENT_HEAD)
		return 0;
	arrival = session_arrival(from);
	in_port = arrival.known ? from->arrival.in_port : from->in_port;
	e = (sai_sluice_flow_event_t){
		.queue_id = queue_id(from->ifindex, from->queue),
		.in_port_id = in_port ? object_id(SAI_OBJECT_TYPE_PORT, in_port) : SAI_NULL_OBJECT_ID,
		.flow = from->digest,
		.octets = from->octets,
		.at_ns = from->at,
		.arrival = arrival,
		.session = session_read(from),
		.mark = from->mark,
		.length = from->length < SAI_SLUICE_HEAD ? from->length : SAI_SLUICE_HEAD,
	};
	memcpy(e.head, from->head, e.length);
	raise(&e);
	remember(&e, slots_now());
	return 0;
}

/* Warns of a neighbor that pauses a class without an end. */
static void warn_storm(uint32_t ifindex, uint32_t class, uint64_t now)
{
	char name[IF_NAMESIZE] = "";

	ignored++;
	if (warned && now - warned < WARN)
		return;
	if_indextoname(ifindex, name);
	warn("%s: the neighbor pauses class %u by PFC for more than %llu ms: the class goes on for as long (%llu frames ignored at all ports)",
	     name, class, STORM_LIMIT / 1000000, (unsigned long long)ignored);
	warned = now;
}

/* Pauses or resumes the classes of a PFC frame at the port that received it, of the number i. */
static void pause_port(const struct softsai_pause *p, const struct queue_port *port, size_t i)
{
	uint64_t now = slots_now(), pause;

	for (uint32_t queue = 0; queue < SOFTSAI_QUEUES; queue++) {
		sai_sluice_match_t match = { .type = SAI_SLUICE_MATCH_CLASS, .value = queue };

		if (!(p->enabled >> queue & 1))
			continue;
		/* A quantum is the time of 512 bits. */
		if (storm_obeys(&storms[i][queue], now, p->quanta[queue] * 64 * 1000000000ULL / port->rate, &pause))
			hold_set(p->ifindex, &match, pause, 0);
		else
			warn_storm(p->ifindex, queue, now);
	}
}

static int pause_classes(void *context, void *data, size_t size)
{
	const struct softsai_pause *p = data;
	struct queue_port port;

	(void)context;
	if (size < sizeof(*p))
		return 0;
	for (size_t i = 0; i < SOFTSAI_LINES && queue_port(i, &port); i++)
		if (port.ifindex == p->ifindex)
			pause_port(p, &port, i);
	return 0;
}

/* Reads the flows above their marks, and raises their events again: high, or low for those that fell below. */
static void read_above(uint64_t now)
{
	for (uint32_t i = 0; i < above_count; i++) {
		struct above *a = &above[i];
		const struct softsai_slot *s = slots_find(a->event.flow);
		uint64_t octets = s ? slots_octets(s) : 0;
		const struct softsai_marks *m = s ? &slots_line_at(s->line)->marks[s->queue & (SOFTSAI_QUEUES - 1)]
						  : NULL;
		bool low = !octets || !m->high || (octets < m->low && !(s->above & SOFTSAI_ABOVE_HIGH));

		if (!low && (octets <= m->high || now - a->told < SOFTSAI_REPEAT))
			continue;
		a->event.octets = octets;
		a->event.at_ns = now;
		a->told = now;
		if (low) {
			a->event.mark = SAI_SLUICE_FLOW_MARK_LOW;
			a->event.length = 0;
			a->event.arrival = (sai_sluice_arrival_t){};
			a->event.session = (sai_sluice_session_t){};
		}
		raise(&a->event);
		if (low) {
			forget(a);
			i--;
		}
	}
}

static int64_t tick(void)
{
	uint64_t now = slots_now();

	if (now - reconciled >= RECONCILE) {
		slots_reconcile();
		reconciled = now;
	}
	read_above(now);
	return above_count ? (int64_t)TICK : (int64_t)(10 * RECONCILE);
}

sai_status_t flows_open(sai_object_id_t id, int realtime)
{
	sai_status_t status;

	above = calloc(ABOVE, sizeof(*above));
	places = calloc(SOFTSAI_SLOTS, sizeof(*places));
	if (!above || !places)
		return SAI_STATUS_NO_MEMORY;
	above_count = 0;
	memset(storms, 0, sizeof(storms));
	session_open();
	switch_id = id;
	reader.realtime = realtime;
	reader.tick = tick;
	status = reader_open(&reader, bpf_map__fd(egress_programs()->maps.soft_events), deliver);
	if (!status)
		status = reader_add(&reader, plane_map(MAP_PAUSE), pause_classes);
	return status ? status : reader_start(&reader);
}

void flows_close(void)
{
	flows_notify(NULL);
	reader_stop(&reader);
	free(above);
	free(places);
	above = NULL;
	places = NULL;
	above_count = 0;
}

sai_status_t flows_notify(void *function)
{
	pthread_mutex_lock(&notifying);
	notify = (sai_sluice_flow_event_notification_fn)function;
	pthread_mutex_unlock(&notifying);
	return function ? slots_attach() : SAI_STATUS_SUCCESS;
}

void flows_set_keys(bool five_tuple, uint32_t stream_seed)
{
	struct egress_bpf *programs = egress_programs();

	programs->bss->softsai_five_tuple = five_tuple;
	programs->bss->softsai_stream_seed = htonl(stream_seed);
}
