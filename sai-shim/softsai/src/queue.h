// SPDX-License-Identifier: Apache-2.0
/*
 * Egress queues of the ports, where the profile asks for them, and the schedulers
 * that serve them. A queue is a class of the HTB qdisc at the netdev's root, which
 * lives as long as the netdev: the next process finds it with the packets in it.
 */
#ifndef SOFTSAI_QUEUE_H
#define SOFTSAI_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"
#include "profile.h"

struct queue_options {
	const struct profile *profile; /* SLUICE_QUEUE_RATE and SLUICE_QUEUE_BYTES, which were checked */
	uint64_t holds;		       /* flows that can be held at once */
	uint64_t hold_octets;	       /* that wait in one hold */
	uint64_t hold_frozen_ms;       /* after which the thread of holds counts as frozen */
	uint64_t realtime;	       /* SCHED_FIFO priority of threads; 0: none */
};

/* A port with queues. */
struct queue_port {
	uint32_t ifindex;
	uint64_t rate;	/* octets a second */
	uint32_t limit; /* octets that a queue holds */
};

/*
 * Makes queues at the netdevs; queues that are there stay as they are until
 * queue_commit. A netdev that cannot have them has none; the log has the reason. Where
 * none can, the capability "queues" is hidden.
 */
void queue_open(const struct queue_options *options, const uint32_t *ifindexes, size_t n);

/*
 * The same for netdevs that come while the switch is open, on which queue_leave ends.
 * SAI_STATUS_INSUFFICIENT_RESOURCES: those that came and went have used up the room.
 */
sai_status_t queue_join(uint32_t ifindex);
void queue_leave(uint32_t ifindex);

/* Makes the queues of a port again, in place of whatever root qdisc took theirs; 0 or -errno. */
int queue_mend(uint32_t ifindex);

/* Notes that queues of a port, or with 0 of all ports, are bound to other schedulers. */
void queue_change(uint32_t ifindex);

/* Gives the queues of ports that changed the schedulers that they are bound to. */
sai_status_t queue_commit(void);

/*
 * Takes queues off netdevs once they are empty; after two seconds with the packets in them.
 * SAI_STATUS_FAILURE: the log has the reason.
 */
sai_status_t queue_release(const uint32_t *ifindexes, size_t n);

/* Releases the queues, which stay. */
void queue_forget(void);

/* The number of queues of a port, or of each port of the switch with port 0; and their ids, by index. */
uint32_t queue_count(uint32_t ifindex);
sai_status_t queue_list(uint32_t ifindex, sai_object_list_t *list);

/* The object id of a queue, and back. */
sai_object_id_t queue_id(uint32_t ifindex, uint32_t queue);
uint32_t queue_ifindex(sai_object_id_t id);
uint32_t queue_index(sai_object_id_t id);

/*
 * Port number i of those with queues; false: there are no more. One that left keeps its number.
 * For any thread.
 */
bool queue_port(size_t i, struct queue_port *port);

#endif
