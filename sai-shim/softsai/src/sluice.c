// SPDX-License-Identifier: Apache-2.0
#include "sluice.h"

#include "hold.h"
#include "hold_queue.h"
#include "object.h"
#include "queue.h"
#include "slots.h"

#define LONGEST (UINT64_MAX / 1000) /* µs */

/* The netdev of a port that has queues; 0 for any. */
static sai_status_t port_of(sai_object_id_t id, uint32_t *ifindex)
{
	*ifindex = object_number(id);
	if (!slots_lines())
		return SAI_STATUS_NOT_SUPPORTED;
	if (id == SAI_NULL_OBJECT_ID)
		return SAI_STATUS_SUCCESS;
	if (object_type(id) != SAI_OBJECT_TYPE_PORT || slots_line(*ifindex) < 0)
		return SAI_STATUS_INVALID_OBJECT_ID;
	return SAI_STATUS_SUCCESS;
}

static sai_status_t set_hold(sai_object_id_t switch_id, sai_object_id_t port_id, const sai_sluice_match_t *match,
			     uint64_t duration_us, uint64_t rate)
{
	uint32_t ifindex;
	sai_status_t status = match ? port_of(port_id, &ifindex) : SAI_STATUS_INVALID_PARAMETER;

	(void)switch_id;
	return status ? status
		      : hold_set(ifindex, match, duration_us < LONGEST ? duration_us * 1000 : UINT64_MAX, rate);
}

static sai_status_t get_hold(sai_object_id_t switch_id, sai_object_id_t port_id, const sai_sluice_match_t *match,
			     sai_sluice_hold_t *hold)
{
	uint32_t ifindex;
	sai_status_t status = match && hold ? port_of(port_id, &ifindex) : SAI_STATUS_INVALID_PARAMETER;

	(void)switch_id;
	return status ? status : hold_get(ifindex, match, hold);
}

static sai_status_t check_queue(sai_object_id_t id)
{
	if (!slots_lines())
		return SAI_STATUS_NOT_SUPPORTED;
	return object_type(id) == SAI_OBJECT_TYPE_QUEUE ? SAI_STATUS_SUCCESS : SAI_STATUS_INVALID_OBJECT_ID;
}

static sai_status_t get_flow(sai_object_id_t queue_id, uint64_t flow, sai_sluice_flow_t *state)
{
	sai_status_t status = state ? check_queue(queue_id) : SAI_STATUS_INVALID_PARAMETER;

	return status ? status : slots_get(queue_ifindex(queue_id), queue_index(queue_id), flow, state);
}

static sai_status_t get_flows(sai_object_id_t queue_id, uint32_t *count, sai_sluice_flow_t *flows)
{
	sai_status_t status = count ? check_queue(queue_id) : SAI_STATUS_INVALID_PARAMETER;

	return status ? status : slots_list(queue_ifindex(queue_id), queue_index(queue_id), count, flows);
}

static sai_status_t get_flow_stats(sai_object_id_t switch_id, sai_sluice_flow_stats_t *stats)
{
	const struct softsai_counts *c = slots_counts();

	(void)switch_id;
	if (!stats)
		return SAI_STATUS_INVALID_PARAMETER;
	if (!c)
		return SAI_STATUS_NOT_SUPPORTED;
	*stats = (sai_sluice_flow_stats_t){ .events = c->events,
					    .events_lost = c->events_lost,
					    .unmonitored = c->unmonitored,
					    .held_packets = c->hold_queue_in,
					    .hold_queue_full = c->hold_queue_full,
					    .hold_queue_lost = c->hold_queue_lost,
					    .hold_queue_stale = c->hold_queue_stale,
					    .hold_queue_passed = hold_queues_passed() };
	return SAI_STATUS_SUCCESS;
}

/* audit and mend need the lock of the other APIs: api.c has them. */
sai_sluice_api_t sluice_api = { set_hold, get_hold, get_flow, get_flows, get_flow_stats, NULL, NULL };
