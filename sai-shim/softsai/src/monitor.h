// SPDX-License-Identifier: Apache-2.0
/*
 * Flow monitors: ACL entries whose packets are counted in the queues that they go
 * through (sai_sluice_ext.h). The counts live as long as the process: what is in a
 * queue when it begins is not known, and right once the queue was empty.
 */
#ifndef SOFTSAI_MONITOR_H
#define SOFTSAI_MONITOR_H

#include "object.h"

/* Loads the programs; where the kernel does not take them, the capability "monitor" is hidden. */
void monitor_open(void);

/* Ends all. */
void monitor_close(void);

/* Sets the event function; NULL: nobody is told. */
void monitor_notify(void *function);

/*
 * Watches the flow of an entry by the marks that it has, or no longer where it has
 * none. The entry keeps its number.
 */
sai_status_t monitor_set(struct object *entry);

/* The number of an entry's flow, or 0. */
uint16_t monitor_flow(const struct object *entry);

/* Forgets the flow of an entry that goes. */
void monitor_forget(const struct object *entry);

/* Octets of the flow in its queues now. */
sai_status_t monitor_occupancy(const struct object *entry, uint64_t *octets);

#endif
