// SPDX-License-Identifier: Apache-2.0
/*
 * The egress programs: that of a port, on the clsact qdisc that plane_open made, and the
 * tracepoints beside it. All calls return 0 or -errno.
 */
#ifndef SOFTSAI_EGRESS_H
#define SOFTSAI_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Puts the program on a netdev, in place of an earlier process' one. */
int egress_attach(uint32_t ifindex);

/* Detaches it, if it is there. */
int egress_detach(uint32_t ifindex);

/*
 * Sets that the ports have queues, the octets of one hold (0: no queues), and after how long the thread
 * of holds counts as frozen, before the first is attached.
 */
void egress_queues(uint64_t hold_octets, uint64_t hold_frozen_ms);

/* The programs, if one was attached, or NULL; and whether the kernel takes the tracepoints. */
struct egress_bpf *egress_programs(void);
bool egress_has_tracepoints(void);

/* Releases them: where the port's program is attached, it stays. */
void egress_close(void);

#endif
