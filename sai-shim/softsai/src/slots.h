// SPDX-License-Identifier: Apache-2.0
/*
 * Flows in queues: the maps of the egress programs, read and written in place. Reads are
 * for any thread, without a lock; writes are for one thread at a time unless noted.
 */
#ifndef SOFTSAI_SLOTS_H
#define SOFTSAI_SLOTS_H

#include <stddef.h>

#include "bpf/flows.h"
#include "sai_abi.h"
#include "sai_sluice_ext.h"

/* Reads the counts of an earlier process, before its programs are replaced. */
void slots_remember(const uint32_t *ifindexes, size_t n);

/*
 * Maps the maps, and describes the ports that have queues; SAI_STATUS_NOT_SUPPORTED: the kernel
 * has no tracepoints for it.
 */
sai_status_t slots_open(void);

/* Describes ports whose queues came since; those beyond SOFTSAI_LINES are left out. */
sai_status_t slots_extend(void);

/* Ends the watch of flows; the counters stay with the ports' program. */
void slots_close(void);

/* Nanoseconds of CLOCK_MONOTONIC, which BPF programs read, too. */
uint64_t slots_now(void);

/* The number of a port's line, or -1; the line; the number of lines. */
int slots_line(uint32_t ifindex);
struct softsai_line *slots_line_at(uint32_t number);
uint32_t slots_lines(void);

struct softsai_counts *slots_counts(void);

/* Begins to watch: attaches the tracepoints, which see every qdisc of the machine, if they are not. */
sai_status_t slots_attach(void);

/* Marks of each flow in a queue, octets; high 0: none. */
sai_status_t slots_set_marks(uint32_t ifindex, uint32_t queue, uint32_t high, uint32_t low);

/* The stages at which holds match packets that leave by a port. Beside slots_set_marks. */
sai_status_t slots_set_stages(uint32_t line, uint32_t stages);

/* The slot of a flow, or NULL. */
const struct softsai_slot *slots_find(uint64_t digest);

/* Octets of the flow of a slot, in its queue alone, and with those in a hold queue. */
uint64_t slots_queued(const struct softsai_slot *s);
uint64_t slots_octets(const struct softsai_slot *s);

/* One flow of a queue, and all; see get_flow and get_flows of sai_sluice_ext.h. */
sai_status_t slots_get(uint32_t ifindex, uint32_t queue, uint64_t flow, sai_sluice_flow_t *state);
sai_status_t slots_list(uint32_t ifindex, uint32_t queue, uint32_t *count, sai_sluice_flow_t *flows);

/*
 * The number of a slot; a slot by its number, or NULL. Octets that its flow has in a hold queue
 * become fewer or more.
 */
uint32_t slots_number(const struct softsai_slot *s);
const struct softsai_slot *slots_at(uint32_t slot);
void slots_leave_hold(uint32_t slot, uint32_t octets);
void slots_enter_hold(uint32_t slot, uint32_t octets);

/* The hold queue is empty: clears its octets in slots. */
void slots_empty_holds(void);

/* Looks whether ports are empty whose queues have not moved since the last call although flows are in them. */
void slots_reconcile(void);

#endif
