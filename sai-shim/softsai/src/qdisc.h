// SPDX-License-Identifier: Apache-2.0
/*
 * The queues of a netdev in the kernel: HTB at its root, a class for the port's
 * rate, below it a class and a bfifo for each queue. All of the calling thread's
 * network namespace. All calls return 0 or -errno.
 */
#ifndef SOFTSAI_QDISC_H
#define SOFTSAI_QDISC_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/queues.h"

/*
 * A rate below this is not given to a class: HTB charges the packet it sends at the
 * class's rate, and a debt of seconds would outlast a later, higher rate.
 */
#define QDISC_MIN_RATE 125000

struct qdisc_queue {
	uint64_t max_rate; /* octets a second; 0: the port's */
	uint32_t priority; /* 0 is served first; equal ones share */
	uint32_t quantum;  /* octets a turn, of those that share */
};

struct qdisc_port {
	uint64_t rate;	/* octets a second */
	uint32_t limit; /* octets that a queue holds */
	uint32_t frame; /* octets of the longest frame */
	struct qdisc_queue queue[SOFTSAI_QUEUES];
};

struct qdisc_stats {
	uint64_t packets, bytes; /* that left the queue */
	uint64_t dropped;	 /* packets that found it full */
	uint64_t backlog;	 /* octets in it now */
};

/*
 * Makes the queues, or changes present ones to those of port; right ones stay as they are, with
 * their packets. -EEXIST: the netdev has a root
 * qdisc of another owner, which stays. -ENOENT: the kernel has no HTB or bfifo.
 */
int qdisc_ensure(uint32_t ifindex, const struct qdisc_port *port);

/* Makes the queues again, in place of whatever root qdisc took their place. */
int qdisc_restore(uint32_t ifindex, const struct qdisc_port *port);

/* Whether the queues are there; -EEXIST as above. */
int qdisc_find(uint32_t ifindex, bool *ours);

/* Removes the queues with their packets, if they are there. */
int qdisc_remove(uint32_t ifindex);

/* Gives a netdev no queue at its root: packets go to it at once. */
int qdisc_none(uint32_t ifindex);

/* -ENOENT: the queue is missing. */
int qdisc_stats(uint32_t ifindex, uint32_t queue, struct qdisc_stats *stats);

#endif
