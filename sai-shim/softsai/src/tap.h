// SPDX-License-Identifier: Apache-2.0
/* The TAP of hold queues, and the socket by which packets leave it. */
#ifndef SOFTSAI_TAP_H
#define SOFTSAI_TAP_H

#include <stdbool.h>
#include <stdint.h>

/* The name of the TAP, followed by a number: it is never a port. */
#define TAP_NETDEV "softsai-hold"

struct tap {
	uint32_t ifindex;
	uint32_t count;
	int *queues;	 /* descriptors; a read never waits */
	int sender;	 /* packet socket; a send never waits */
	uint64_t cookie; /* of the socket */
	/*
	 * Another TAP, which no packet enters: it shows that the process lives. When that is
	 * killed,
	 * Linux closes the highest descriptor first, and this one is the highest; some sockets,
	 * and hundreds of queues, take 100 ms to close.
	 */
	int guard;
	uint32_t guard_ifindex;
};

/*
 * Makes a TAP with so many queues, each of so many packets; program is a socket filter that
 * chooses the queue. 0 or -errno; *what is the failed step.
 */
int tap_open(struct tap *t, uint32_t count, uint32_t packets, int program, const char **what);

/* Whether it is set up; sets it up again, -ENODEV: it is gone. */
bool tap_is_up(const struct tap *t);
int tap_up(const struct tap *t);

/* Removes it, with the packets in it. */
void tap_close(struct tap *t);

/* Reads a frame of a queue: its length, or -EAGAIN. */
int tap_read(const struct tap *t, uint32_t queue, void *frame, uint32_t room);

/*
 * Sends a frame by a netdev, with this mark. -EAGAIN or -ENOBUFS: not now, as the netdev's
 * queue is full; otherwise the netdev does not take it.
 */
int tap_send(const struct tap *t, uint32_t ifindex, const void *frame, uint32_t length, uint32_t mark);

/* Whether a netdev is there, up, and has a carrier. */
bool tap_port_runs(const struct tap *t, uint32_t ifindex);

#endif
