/* SPDX-License-Identifier: Apache-2.0 */
/* The extension's API: flows in queues, and holds. */
#ifndef FLOWS_H
#define FLOWS_H

#include "calls.h"

extern const sai_sluice_api_t sluice_api;

/* Takes the function for events, and that for events of version 2; NULL: none. */
void flows_notify(void *function);
void flows_notify2(void *function);

/* Flows of a queue are monitored from now on: raises events by the profile's EVENTS. */
void flows_monitor(sai_object_id_t switch_id, sai_object_id_t queue);

/* Waits until all events were raised, and forgets all holds. */
void flows_close(void);

#endif
