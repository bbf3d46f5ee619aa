// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

#define SECOND 1000000000ULL

void pace_measure(struct pace *p, uint64_t now, uint32_t octets)
{
	if (!p->since || now > p->since + PACE_STALE)
		*p = (struct pace){ .since = now };
	p->octets += octets;
	if (now < p->since + PACE_SPAN)
		return;
	uint64_t rate = p->octets * SECOND / (now - p->since);

	p->rate = p->rate ? (3 * p->rate + rate) / 4 : rate;
	p->octets = 0;
	p->since = now;
}

/* Octets a second that leave now; 0: unlimited. */
static uint64_t limit(const struct pace *p, uint64_t now, uint64_t waiting)
{
	uint64_t least;

	if (!p->deadline || now >= p->deadline)
		return 0;
	least = waiting * 1000 / ((p->deadline - now) / 1000000 + 1);
	return p->rate > least ? p->rate : least;
}

uint64_t pace_at(struct pace *p, uint64_t now, uint64_t waiting)
{
	if (now > p->asked + PACE_SPAN) { /* other holds have ended */
		p->deadline = p->rate && now <= p->since + PACE_STALE ? now + PACE_DRAIN : 0;
		p->next = now;
	}
	p->asked = now;
	return limit(p, now, waiting) ? p->next : now;
}

void pace_take(struct pace *p, uint64_t now, uint64_t waiting, uint32_t octets)
{
	uint64_t rate = limit(p, now, waiting);

	if (!rate)
		return;
	if (p->next + PACE_BURST < now)
		p->next = now - PACE_BURST;
	p->next += octets * SECOND / rate;
}
