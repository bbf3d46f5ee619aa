// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/flows.h"
#include "egress.h"
#include "hide.h"
#include "log.h"
#include "net.h"
#include "qdisc.h"
#include "scheduler.h"
#include "value.h"

#define DEFAULT_RATE 12500000000ULL /* 100 Gbit/s, for a netdev of unknown speed */
#define DEFAULT_LIMIT (1 << 20)
#define OCTETS_PER_MBIT 125000ULL
#define SHORTEST_FRAME 1518
#define DRAIN_SECONDS 2 /* that queues which are removed have to become empty */
#define OVERHEAD 18	/* of a frame over the MTU: addresses, a tag, the type */

struct queues {
	uint32_t ifindex;
	struct qdisc_port port;
	struct qdisc_port applied; /* as the kernel took it from this process */
	bool changed;		   /* a scheduler, since the last commit */
	bool left;		   /* it is no port any more: its number stays, by which others know it */
};

static struct queues *ports; /* with room for SOFTSAI_LINES more than there are at first */
static size_t count, room;
static struct queue_options given; /* by queue_open */

sai_object_id_t queue_id(uint32_t ifindex, uint32_t queue)
{
	return object_id(SAI_OBJECT_TYPE_QUEUE, (uint64_t)ifindex << 8 | queue);
}

uint32_t queue_ifindex(sai_object_id_t id)
{
	return object_number(id) >> 8;
}

uint32_t queue_index(sai_object_id_t id)
{
	return object_number(id) & 0xff;
}

bool queue_port(size_t i, struct queue_port *port)
{
	if (i >= __atomic_load_n(&count, __ATOMIC_ACQUIRE))
		return false;
	*port = (struct queue_port){ ports[i].ifindex, ports[i].port.rate, ports[i].port.limit };
	return true;
}

static struct queues *find(uint32_t ifindex)
{
	for (size_t i = 0; i < count; i++)
		if (ports[i].ifindex == ifindex)
			return &ports[i];
	return NULL;
}

/* Compiles the queues of a port by the schedulers that they are bound to. */
static void compile(struct queues *q)
{
	uint32_t strict = 0;

	for (int i = SOFTSAI_QUEUES - 1; i >= 0; i--) {
		const struct object *o = object_find(queue_id(q->ifindex, i));
		const sai_attribute_value_t *v = o ? object_value(o, SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID) : NULL;
		struct scheduling s = scheduler_values(v ? object_find(v->oid) : NULL);

		/* Strict ones go first, the highest of them before all; the rest share. */
		q->port.queue[i] = (struct qdisc_queue){
			.max_rate = s.max_rate,
			.priority = s.strict ? strict++ : SOFTSAI_QUEUES - 1,
			.quantum = s.weight * q->port.frame,
		};
	}
}

static sai_status_t apply(struct queues *q)
{
	int err;

	compile(q);
	if (!memcmp(&q->applied, &q->port, sizeof(q->port)))
		return SAI_STATUS_SUCCESS;
	err = qdisc_ensure(q->ifindex, &q->port);
	if (!err) {
		q->applied = q->port;
		return SAI_STATUS_SUCCESS;
	}
	fail("queues of the port with index %u: %s", q->ifindex, strerror(-err));
	/* ENODEV: the netdev is gone, and its queues with it. */
	return err == -ENODEV ? SAI_STATUS_SUCCESS : SAI_STATUS_FAILURE;
}

void queue_change(uint32_t ifindex)
{
	for (size_t i = 0; i < count; i++)
		if (!ports[i].left && (!ifindex || ports[i].ifindex == ifindex))
			ports[i].changed = true;
}

sai_status_t queue_commit(void)
{
	sai_status_t status = SAI_STATUS_SUCCESS, one;

	if (scheduler_changed())
		queue_change(0);
	for (size_t i = 0; i < count; i++) {
		one = ports[i].changed ? apply(&ports[i]) : SAI_STATUS_SUCCESS;
		ports[i].changed = false;
		if (!status)
			status = one;
	}
	return status;
}

static const char *reason(int err)
{
	if (err == -EEXIST)
		return "it has another owner's root qdisc, which stays (tc qdisc show)";
	if (err == -ENOENT)
		return "the kernel has no HTB or bfifo (CONFIG_NET_SCH_HTB, CONFIG_NET_SCH_FIFO)";
	return strerror(-err);
}

/* Fills q for a netdev, and makes its queues unless an earlier process did. */
static int open_one(struct queues *q, const struct queue_options *options, struct net_link *link)
{
	uint64_t mbits = profile_of_port(options->profile, "SLUICE_QUEUE_RATE", link->name, net_speed(link->name));
	bool ours;
	int err;

	q->ifindex = link->ifindex;
	q->port.rate = mbits ? mbits * OCTETS_PER_MBIT : DEFAULT_RATE;
	q->port.limit = profile_of_port(options->profile, "SLUICE_QUEUE_BYTES", link->name, DEFAULT_LIMIT);
	q->port.frame = link->mtu + OVERHEAD > SHORTEST_FRAME ? link->mtu + OVERHEAD : SHORTEST_FRAME;
	compile(q);
	err = qdisc_find(q->ifindex, &ours);
	if (!err && !ours)
		err = qdisc_ensure(q->ifindex, &q->port);
	if (err)
		return err;
	if (!ours)
		q->applied = q->port;
	err = egress_attach(q->ifindex);
	if (err && !ours)
		qdisc_remove(q->ifindex);
	return err;
}

/* Makes the queues of a netdev, at the number that it had, or a new one. */
static void open_port(uint32_t ifindex)
{
	struct queues *known = find(ifindex), q = {};
	struct net_link link = {};
	int err = net_link(NULL, ifindex, &link);

	if (!err)
		err = open_one(&q, &given, &link);
	if (err) {
		warn("port %s has no queues: %s", link.name, reason(err));
		return;
	}
	*(known ? known : &ports[count]) = q;
	if (!known)
		__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
}

void queue_open(const struct queue_options *options, const uint32_t *ifindexes, size_t n)
{
	given = *options;
	egress_queues(options->hold_octets, options->hold_frozen_ms);
	room = n + SOFTSAI_LINES;
	ports = calloc(room, sizeof(*ports));
	for (size_t i = 0; ports && i < n; i++)
		open_port(ifindexes[i]);
	if (!count)
		hide_also("queues");
}

sai_status_t queue_join(uint32_t ifindex)
{
	if (!ports)
		return SAI_STATUS_SUCCESS;
	if (!count || (count == room && !find(ifindex))) /* none could have queues then: it may be otherwise now */
		return SAI_STATUS_INSUFFICIENT_RESOURCES;
	open_port(ifindex);
	return SAI_STATUS_SUCCESS;
}

int queue_mend(uint32_t ifindex)
{
	struct queues *q = find(ifindex);

	if (!q || q->left)
		return -ENODEV;
	compile(q);
	return qdisc_restore(ifindex, &q->port);
}

void queue_leave(uint32_t ifindex)
{
	struct queues *q = find(ifindex);

	if (!q)
		return;
	for (uint32_t i = 0; i < SOFTSAI_QUEUES; i++)
		object_dissolve(queue_id(ifindex, i));
	q->left = true;
	q->changed = false;
	queue_release(&ifindex, 1); /* it is another device than a port in any case */
}

/* Whether packets wait in the queues of a netdev. */
static bool waiting(uint32_t ifindex)
{
	struct qdisc_stats stats;

	for (uint32_t i = 0; i < SOFTSAI_QUEUES; i++)
		if (!qdisc_stats(ifindex, i, &stats) && stats.backlog)
			return true;
	return false;
}

/* Waits until the queues of netdevs are empty, up to a limit: senders may fill them on and on. */
static void drain(const uint32_t *ifindexes, size_t n)
{
	struct timespec step = { 0, 1000000 }, now;
	time_t end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (end = now.tv_sec + DRAIN_SECONDS; now.tv_sec <= end; clock_gettime(CLOCK_MONOTONIC, &now)) {
		size_t i = 0;

		while (i < n && !waiting(ifindexes[i]))
			i++;
		if (i == n)
			return;
		nanosleep(&step, NULL);
	}
}

sai_status_t queue_release(const uint32_t *ifindexes, size_t n)
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	int err;

	drain(ifindexes, n);
	for (size_t i = 0; i < n; i++) {
		err = egress_detach(ifindexes[i]);
		if (!err)
			err = qdisc_remove(ifindexes[i]);
		if (!err)
			continue;
		fail("cannot remove the queues of the netdev with index %u: %s", ifindexes[i], strerror(-err));
		status = SAI_STATUS_FAILURE;
	}
	return status;
}

void queue_forget(void)
{
	egress_close();
	egress_queues(0, 0);
	free(ports);
	ports = NULL;
	count = 0;
}

uint32_t queue_count(uint32_t ifindex)
{
	const struct queues *q = find(ifindex);

	return (ifindex ? q && !q->left : count > 0) ? SOFTSAI_QUEUES : 0;
}

sai_status_t queue_list(uint32_t ifindex, sai_object_list_t *list)
{
	sai_object_id_t ids[SOFTSAI_QUEUES];

	for (uint32_t i = 0; i < SOFTSAI_QUEUES; i++)
		ids[i] = queue_id(ifindex, i);
	return value_fill(list, ids, queue_count(ifindex), sizeof(ids[0]));
}
