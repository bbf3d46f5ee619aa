// SPDX-License-Identifier: Apache-2.0
/*
 * The holds: the match and the end of each. All calls are for any
 * thread. The thread of holds ends them (hold_queue.h).
 */
#ifndef SOFTSAI_HOLD_H
#define SOFTSAI_HOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/flows.h"
#include "sai_abi.h"
#include "sai_sluice_ext.h"

#define HOLD_COUNT UINT64_MAX /* rate: nothing is held */

/* Maps the map of holds; limit: how many there can be at once. The eventfd wakes the thread of holds. */
sai_status_t hold_open(uint32_t limit, int wake);
void hold_close(void);

/* Sets a hold; see set_hold of sai_sluice_ext.h. With any the match is at every port. */
sai_status_t hold_set(uint32_t ifindex, const sai_sluice_match_t *match, uint64_t duration_ns, uint64_t rate);
sai_status_t hold_get(uint32_t ifindex, const sai_sluice_match_t *match, sai_sluice_hold_t *state);

/* Has holds at any port match at the lines from first on, which are new. */
sai_status_t hold_extend(uint32_t first);

/*
 * Ends all holds. Waiting packets leave at the rate of their next queue; with direct at once,
 * and new packets may pass it.
 */
void hold_end_all(bool direct);

/* The record of a hold, NULL for a number that is not in use; limit is as above. */
struct softsai_hold *hold_record(uint32_t number);
uint32_t hold_limit(void);

/* Forgets a hold that is over and drained; false: it is not, any more, or another thread sets one. */
bool hold_forget(uint32_t number);

#endif
