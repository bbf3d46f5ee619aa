// SPDX-License-Identifier: Apache-2.0
/*
 * The egress program of a port, which chooses a packet's queue, and cuts copies
 * that are to be short. It stands on the
 * clsact qdisc that plane_open made, and holds no maps. All calls return 0 or -errno.
 */
#ifndef SOFTSAI_EGRESS_H
#define SOFTSAI_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Puts the program on a netdev, in place of an earlier process' one. */
int egress_attach(uint32_t ifindex);

/* Takes it off, if it is there. */
int egress_detach(uint32_t ifindex);

/* Says whether the ports have queues, before the first is attached. */
void egress_queues(bool queues);

/* Lets go of it: where it is attached, it stays. */
void egress_close(void);

#endif
