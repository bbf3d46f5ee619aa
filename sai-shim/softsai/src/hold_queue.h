// SPDX-License-Identifier: Apache-2.0
/*
 * Hold queues: a TAP with a queue for each hold, where packets wait, and the thread that sends
 * them on by their port when the hold is over, or at its rate.
 *
 * The TAP lives as long as the process: when that dies the programs find it gone, and packets
 * go directly at once. Waiting packets are lost, and counted by the next process.
 */
#ifndef SOFTSAI_HOLD_QUEUE_H
#define SOFTSAI_HOLD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "drift.h"
#include "sai_abi.h"

/*
 * Makes the TAP and opens the holds, at most this many at once; realtime: SCHED_FIFO priority of
 * the thread of events, below which its own has one; 0: none. SAI_STATUS_NOT_SUPPORTED: this
 * machine cannot; the log has the reason.
 */
sai_status_t hold_queues_open(uint32_t holds, int realtime);

/* Packets that a hold matched and that went on, since nothing could be held. */
uint64_t hold_queues_passed(void);

#define HOLD_PART "hold device"

/*
 * Finds a TAP that another program set down or removed, and sets it up or makes it again (0 or
 * -errno): holds in force go on, what waits is dropped and counted.
 */
void hold_queues_audit(struct drift_list *l);
int hold_queues_mend(void);

/* Ends all holds, sends waiting packets, and removes the TAP. */
void hold_queues_close(void);

#endif
