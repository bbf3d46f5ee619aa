/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_REALTIME_H
#define SLUICE_REALTIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Takes real-time priority from the calling thread when it has run for so long, us, without a wait
 * that blocked. 0: no longer. Returns 0, or -1 with errno.
 */
int realtime_bound(uint64_t us);

/* Whether it took the priority since the last call; of that thread. */
bool realtime_lost(void);

#endif
