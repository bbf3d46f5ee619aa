// SPDX-License-Identifier: Apache-2.0
/*
 * Events of flows in queues, and PFC frames that ports receive: the thread that delivers
 * both. The programs raise an event when a flow passes a mark, and may miss it; the thread
 * reads the flows above their mark again and again, and raises the events that were missed.
 */
#ifndef SOFTSAI_FLOWS_H
#define SOFTSAI_FLOWS_H

#include <stdbool.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

/* Starts the thread of a switch, with a SCHED_FIFO priority or 0, and ends it. */
sai_status_t flows_open(sai_object_id_t id, int realtime);
void flows_close(void);

/* Sets the event function, sai_sluice_flow_event_notification_fn; NULL: events are dropped. */
sai_status_t flows_notify(void *function);

/* Sets the key of flows, and the seed of Stream IDs. */
void flows_set_keys(bool five_tuple, uint32_t stream_seed);

#endif
