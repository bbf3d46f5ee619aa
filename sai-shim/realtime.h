/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_REALTIME_H
#define SLUICE_REALTIME_H

#include <stdint.h>

/*
 * Takes real-time priority from the calling thread when it has run for so long, us, without a wait
 * that blocked. 0: no longer. Returns 0, or -1 with errno.
 */
int realtime_bound(uint64_t us);

#endif
