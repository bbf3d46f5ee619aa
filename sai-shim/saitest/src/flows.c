/* SPDX-License-Identifier: Apache-2.0 */
#include "flows.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS 64
#define FLOWS 100 /* in each queue */

static struct hold {
	sai_object_id_t port;
	sai_sluice_match_t match;
	uint64_t us, rate; /* us 0: there is none */
} holds[HOLDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* holds are set from any thread */

static sai_sluice_flow_event_notification_fn event;
static sai_sluice_flow_event2_notification_fn event2;
static pthread_t thread;
static bool running;
static sai_object_id_t from[2]; /* switch, queue */

void flows_notify(void *function)
{
	event = (sai_sluice_flow_event_notification_fn)function;
}

void flows_notify2(void *function)
{
	event2 = (sai_sluice_flow_event2_notification_fn)function;
}

/* Of event n: the address n of 2001:db8::/32, or of 192.0.2.0/24. */
static sai_ip_address_t address(bool v6, unsigned n)
{
	sai_ip_address_t a = { .addr_family = v6 };

	if (v6)
		memcpy(&a.addr, (uint8_t[16]){ 0x20, 1, 0xd, 0xb8, [14] = n >> 8, [15] = n }, 16);
	else
		memcpy(&a.addr, (uint8_t[4]){ 192, 0, 2, n }, 4);
	return a;
}

/* The packet of an event of version 2: of IPv6 or IPv4 with label 0xfedcb, or too short to be read. */
static void write_head(sai_sluice_flow_event2_t *e, unsigned n)
{
	sai_ip_address_t from = address(n % 2, n), to = address(n % 2, n + 1);

	memset(e->head, 0, sizeof(e->head));
	if (n % 2) {
		memcpy(e->head, (uint8_t[4]){ 0x6a, 0xbf, 0xed, 0xcb }, 4);
		memcpy(e->head + 8, &from.addr, 16);
		memcpy(e->head + 24, &to.addr, 16);
	} else {
		memcpy(e->head, (uint8_t[2]){ 0x45, 0xab }, 2);
		memcpy(e->head + 12, &from.addr, 4);
		memcpy(e->head + 16, &to.addr, 4);
	}
}

static void raise_event2(unsigned n)
{
	sai_sluice_flow_event2_t e = { .queue_id = from[1],
				       .in_port_id = n,
				       .flow = n + 1,
				       .octets = n + 2,
				       .at_ns = n + 3,
				       .mark = n % 3,
				       .relabelled = n / 2 % 3,
				       .length = n % 97 };

	write_head(&e, n);
	event2(from[0], 1, &e);
}

/* Event n is of flow n + 1; its members count up from n, and so do the octets of its head. */
static void *raise_events(void *arg)
{
	sai_sluice_flow_event_t e = { .queue_id = from[1] };
	unsigned count = 0;

	(void)arg;
	sscanf(profile("EVENTS"), "%u", &count);
	for (unsigned n = 0; n < count; n++) {
		if (event2) {
			raise_event2(n);
			continue;
		}
		e.in_port_id = n;
		e.flow = n + 1;
		e.octets = n + 2;
		e.at_ns = n + 3;
		e.mark = n % 3;
		e.arrival = (sai_sluice_arrival_t){ .known = n % 2,
						    .traffic_class = n,
						    .flow_label = n + 4,
						    .source = address(n % 2, n + 5),
						    .destination = address(n % 2, n + 6) };
		e.session = (sai_sluice_session_t){ .protocol = n + 7,
						    .rocev2 = n % 3 == 0,
						    .bth_octet = n + 8,
						    .source_port = n + 9,
						    .destination_port = n + 10,
						    .partition_key = n + 11,
						    .destination_qp = n + 12,
						    .source_qp = n + 13,
						    .source = address(n % 4 == 0, n + 14),
						    .destination = address(n % 4 == 0, n + 15) };
		e.length = n % (SAI_SLUICE_HEAD + 1);
		for (unsigned i = 0; i < SAI_SLUICE_HEAD; i++)
			e.head[i] = n + i;
		event(from[0], 1, &e);
	}
	return NULL;
}

static void finish_events(void)
{
	if (running)
		pthread_join(thread, NULL);
	running = false;
}

void flows_monitor(sai_object_id_t switch_id, sai_object_id_t queue)
{
	finish_events();
	from[0] = switch_id;
	from[1] = queue;
	running = (event || event2) && profile("EVENTS") && pthread_create(&thread, NULL, raise_events, NULL) == 0;
}

void flows_close(void)
{
	finish_events();
	event = NULL;
	event2 = NULL;
	memset(holds, 0, sizeof(holds));
}

static void print_match(FILE *out, const sai_sluice_match_t *m)
{
	static const char *const names[] = { "STREAM", "LABEL", "PAIR", "SESSION", "TUPLE", "CLASS" };
	int family = m->source.addr_family ? AF_INET6 : AF_INET;
	char text[2][INET6_ADDRSTRLEN];

	fprintf(out, " %s", m->type < sizeof(names) / sizeof(names[0]) ? names[m->type] : "?");
	if (m->type != SAI_SLUICE_MATCH_STREAM && m->type != SAI_SLUICE_MATCH_CLASS)
		fprintf(out, " %s>%s", inet_ntop(family, &m->source.addr, text[0], sizeof(text[0])),
			inet_ntop(family, &m->destination.addr, text[1], sizeof(text[1])));
	if (m->type != SAI_SLUICE_MATCH_PAIR)
		fprintf(out, " %#x", m->value);
	if (m->type == SAI_SLUICE_MATCH_TUPLE)
		fprintf(out, " protocol %u", m->protocol);
}

/* The hold, or a free place for it, or NULL. */
static struct hold *find(sai_object_id_t port, const sai_sluice_match_t *match)
{
	struct hold *unused = NULL;

	for (struct hold *h = holds; h < holds + HOLDS; h++) {
		if (!h->us)
			unused = unused ? unused : h;
		else if (h->port == port && memcmp(&h->match, match, sizeof(*match)) == 0)
			return h;
	}
	return unused;
}

static sai_status_t set_hold(sai_object_id_t switch_id, sai_object_id_t port, const sai_sluice_match_t *match,
			     uint64_t duration_us, uint64_t rate)
{
	struct hold *h;
	sai_status_t status = SAI_STATUS_SUCCESS;
	FILE *out;

	(void)switch_id;
	if (port && !store_has(port))
		return SAI_STATUS_INVALID_OBJECT_ID;
	pthread_mutex_lock(&lock);
	h = find(port, match);
	if (h)
		*h = (struct hold){ port, *match, duration_us, rate };
	else
		status = SAI_STATUS_TABLE_FULL;
	out = h ? record_begin("hold", port) : NULL;
	if (out) {
		print_match(out, match);
		fprintf(out, " us=%" PRIu64 " rate=%" PRIu64 "\n", duration_us, rate);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static sai_status_t get_hold(sai_object_id_t switch_id, sai_object_id_t port, const sai_sluice_match_t *match,
			     sai_sluice_hold_t *hold)
{
	sai_status_t status = failing("get", "hold");
	struct hold *h;

	(void)switch_id;
	if (status != SAI_STATUS_SUCCESS)
		return status;
	status = SAI_STATUS_ITEM_NOT_FOUND;
	pthread_mutex_lock(&lock);
	h = find(port, match);
	if (h && h->us) {
		*hold = (sai_sluice_hold_t){ .remaining_us = h->us,
					     .rate = h->rate,
					     .octets = 1,
					     .packets = 2,
					     .waiting_octets = 3,
					     .waiting_packets = 4,
					     .dropped_packets = 5 };
		status = SAI_STATUS_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static sai_sluice_flow_t flow_of(sai_object_id_t queue, uint64_t flow)
{
	return (sai_sluice_flow_t){
		.flow = flow, .octets = number_of(queue) * 1000 + flow, .departed = flow + 1, .at_ns = flow + 2
	};
}

static sai_status_t get_flow(sai_object_id_t queue, uint64_t flow, sai_sluice_flow_t *state)
{
	if (!store_has(queue))
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (!flow || flow > FLOWS)
		return SAI_STATUS_ITEM_NOT_FOUND;
	*state = flow_of(queue, flow);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t get_flows(sai_object_id_t queue, uint32_t *count, sai_sluice_flow_t *flows)
{
	uint32_t room = *count;

	if (!store_has(queue))
		return SAI_STATUS_INVALID_OBJECT_ID;
	*count = FLOWS;
	if (room < FLOWS)
		return SAI_STATUS_BUFFER_OVERFLOW;
	for (uint32_t i = 0; i < FLOWS; i++)
		flows[i] = flow_of(queue, i + 1);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t get_flow_stats(sai_object_id_t switch_id, sai_sluice_flow_stats_t *stats)
{
	(void)switch_id;
	*stats = (sai_sluice_flow_stats_t){ 1, 2, 3, 4, 5, 6, 7, 8 };
	return SAI_STATUS_SUCCESS;
}

/* Piece n of an audit finds 10 n parts. */
static sai_status_t audit(sai_object_id_t switch_id, uint32_t *piece, uint32_t *count, sai_sluice_drift_t *drifts)
{
	const char *text = profile("AUDIT");
	uint32_t pieces = text ? strtoul(text, NULL, 0) : 0, room = *count;

	(void)switch_id;
	if (!pieces)
		return SAI_STATUS_NOT_IMPLEMENTED;
	*count = 10 * *piece;
	if (room < *count)
		return SAI_STATUS_BUFFER_OVERFLOW;
	for (uint32_t i = 0; i < *count; i++) {
		drifts[i] = (sai_sluice_drift_t){ .mendable = i % 2 };
		snprintf(drifts[i].part, sizeof(drifts[i].part), "part %u", *piece);
		snprintf(drifts[i].place, sizeof(drifts[i].place), "place %u", i);
	}
	*piece = (*piece + 1) % pieces;
	return SAI_STATUS_SUCCESS;
}

const sai_sluice_api_t sluice_api = { set_hold, get_hold, get_flow, get_flows, get_flow_stats, audit, NULL };
