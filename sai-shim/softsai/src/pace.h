// SPDX-License-Identifier: Apache-2.0
/*
 * How fast packets that were held leave by a port when their holds end without a word that there
 * is room: as fast as the next queue took them while they were held. All times are ns, the time
 * now is given.
 */
#ifndef SOFTSAI_PACE_H
#define SOFTSAI_PACE_H

#include <stdint.h>

#define PACE_SPAN 100000000ULL	 /* over which a rate is measured */
#define PACE_STALE 500000000ULL	 /* after which a measured one is stale */
#define PACE_DRAIN 1800000000ULL /* in which all leaves, at a higher rate if need be */
#define PACE_BURST 2000000ULL	 /* that is made up for after a delay */

/* Of a port; all 0 at first. */
struct pace {
	uint64_t octets;   /* that left in this span */
	uint64_t since;	   /* when it began; 0: it has not */
	uint64_t rate;	   /* octets a second, averaged over some spans; 0: unknown */
	uint64_t asked;	   /* when pace_at was called last */
	uint64_t deadline; /* of packets that leave at this rate */
	uint64_t next;	   /* when the next packet may leave */
};

/* A packet of so many octets left by the port while its flow was held, or as there was room. */
void pace_measure(struct pace *p, uint64_t now, uint32_t octets);

/* When the next packet may leave, while so many octets wait; now, or earlier: at once. */
uint64_t pace_at(struct pace *p, uint64_t now, uint64_t waiting);

/* A packet of so many octets left as pace_at allowed; as many waited then. */
void pace_take(struct pace *p, uint64_t now, uint64_t waiting, uint32_t octets);

#endif
