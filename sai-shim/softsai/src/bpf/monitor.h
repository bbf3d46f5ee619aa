/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the flow monitor's programs and the library share. Host order. */
#ifndef SOFTSAI_BPF_MONITOR_H
#define SOFTSAI_BPF_MONITOR_H

#include <linux/types.h>

#define SOFTSAI_OCCUPANCIES 16384 /* of a flow in a queue, all together */

/* Marks of a flow, by its number. */
struct softsai_marks {
	__u32 high, low; /* octets; high 0: nobody watches the flow */
};

struct softsai_occupied {
	__u32 ifindex;
	__u16 flow;
	__u16 queue;
};

struct softsai_occupancy {
	__u64 octets;
	__u32 above; /* the high mark was passed, the low one not yet */
	__u32 zero;
};

/* A flow passed a mark. */
struct softsai_passed {
	struct softsai_occupied where;
	__u64 octets;
	__u32 high;
	__u32 zero;
};

#endif
