// SPDX-License-Identifier: Apache-2.0
/* Schedulers: how queues of a port share its rate, and the most that one may take. */
#ifndef SOFTSAI_SCHEDULER_H
#define SOFTSAI_SCHEDULER_H

#include "object.h"

extern const struct type scheduler_type;

/* How a queue is served. */
struct scheduling {
	bool strict;
	uint32_t weight;
	uint64_t max_rate; /* octets a second; 0: unlimited */
};

/* The values of a scheduler, or SAI's defaults with NULL. */
struct scheduling scheduler_values(const struct object *scheduler);

/* Reports whether a scheduler was set since the last call. */
bool scheduler_changed(void);

#endif
