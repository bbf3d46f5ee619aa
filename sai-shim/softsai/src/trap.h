// SPDX-License-Identifier: Apache-2.0
/*
 * Packets to the CPU: traps, and the thread that hands copies of the ingress program to the
 * caller's packet event function. That function runs in this
 * thread, without any lock held.
 */
#ifndef SOFTSAI_TRAP_H
#define SOFTSAI_TRAP_H

#include "object.h"

extern const struct type trap_type, trap_group_type;

/* Starts and stops the reader; packets that find its buffer full are dropped and counted. */
sai_status_t trap_start(sai_object_id_t id);
void trap_stop(void);

/* Sets the packet event function; NULL: packets are thrown away. */
void trap_notify(void *function);

#endif
