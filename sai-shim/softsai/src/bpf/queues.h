/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The place of queues in the kernel, shared by the programs and the library. */
#ifndef SOFTSAI_BPF_QUEUES_H
#define SOFTSAI_BPF_QUEUES_H

#define SOFTSAI_QUEUES 8	 /* of a port */
#define SOFTSAI_HTB 0x51c00000u	 /* handle of the qdisc at the root */
#define SOFTSAI_HTB_PORT 1	 /* minor number of the class with the port's rate */
#define SOFTSAI_HTB_QUEUE 0x10	 /* of queue 0's class; the others follow */
#define SOFTSAI_FIFO 0x51d00000u /* handle of queue 0's bfifo; the majors of the others follow */

/* The class of a queue, as a handle. */
#define SOFTSAI_CLASS(queue) (SOFTSAI_HTB | (SOFTSAI_HTB_QUEUE + (queue)))

/* The queue of a packet that nothing else put into one: the DSCP's class selector. */
#define SOFTSAI_QUEUE_OF(dscp) ((dscp) >> 3)

#endif
