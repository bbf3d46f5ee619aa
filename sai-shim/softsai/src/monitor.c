// SPDX-License-Identifier: Apache-2.0
#include "monitor.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/monitor.h"
#include "bpf/queues.h"
#include "index.h"
#include "log.h"
#include "monitor.skel.h"
#include "port.h"
#include "qdisc.h"
#include "queue.h"
#include "reader.h"
#include "switch.h"

static struct reader reader = { .what = "events of flow monitors", .wake = -1 };
static struct monitor_bpf *skel;
static sai_object_id_t switch_id;
static _Atomic sai_object_id_t entries[SOFTSAI_FLOWS]; /* by the number of the flow */
static uint32_t watched;
static _Atomic(sai_flow_monitor_event_notification_fn) event;

static int map_of(const struct bpf_map *map)
{
	return bpf_map__fd(map);
}

/* The cookie of the calling thread's network namespace. */
static int netns_cookie(__u64 *cookie)
{
	socklen_t size = sizeof(*cookie);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &size))
		err = -errno;
	close(fd);
	return err;
}

void monitor_open(void)
{
	__u64 cookie;
	int err;

	log_libbpf_clear();
	skel = monitor_bpf__open();
	err = skel ? netns_cookie(&cookie) : -ENOMEM;
	if (!err) {
		skel->rodata->softsai_netns = cookie;
		err = monitor_bpf__load(skel);
	}
	if (!err)
		return;
	warn("flows cannot be watched in queues: %s%s%s", strerror(-err), *log_libbpf_reason() ? ": " : "", log_libbpf_reason());
	monitor_close();
	hide_also("monitor");
}

static int deliver(void *context, void *data, size_t size)
{
	sai_flow_monitor_event_notification_fn notify = atomic_load(&event);
	const struct softsai_passed *p = data;
	sai_object_id_t entry;

	(void)context;
	if (!notify || size < sizeof(*p) || p->where.flow >= SOFTSAI_FLOWS)
		return 0;
	entry = atomic_load(&entries[p->where.flow]);
	if (entry) /* else it has gone meanwhile */
		notify(switch_id, entry, queue_id(p->where.ifindex, p->where.queue), p->octets, p->high);
	return 0;
}

/* The programs see every qdisc of the machine: they are there only while somebody asks. */
static sai_status_t attach(void)
{
	int err;

	if (reader.wake >= 0)
		return SAI_STATUS_SUCCESS;
	err = monitor_bpf__attach(skel);
	if (err) {
		fail("cannot watch queues: %s", strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	switch_id = switch_object()->id;
	return reader_start(&reader, map_of(skel->maps.soft_passed), deliver);
}

static void detach(void)
{
	reader_stop(&reader);
	monitor_bpf__detach(skel);
}

void monitor_close(void)
{
	monitor_notify(NULL);
	if (skel) {
		detach();
		monitor_bpf__destroy(skel);
	}
	skel = NULL;
	watched = 0;
	for (size_t i = 0; i < SOFTSAI_FLOWS; i++)
		atomic_store(&entries[i], SAI_NULL_OBJECT_ID);
}

void monitor_notify(void *function)
{
	atomic_store(&event, (sai_flow_monitor_event_notification_fn)function);
}

static uint32_t mark_of(const struct object *entry, sai_attr_id_t id)
{
	const sai_attribute_value_t *v = object_value(entry, id);

	return v && v->aclaction.enable ? v->aclaction.parameter.u32 : 0;
}

uint16_t monitor_flow(const struct object *entry)
{
	const sai_attribute_value_t *v = object_value(entry, ATTR_FLOW);

	return v && v->u32 < SOFTSAI_FLOWS ? v->u32 : 0;
}

/* The flow's number of the process before, or a new one. */
static sai_status_t take(struct object *entry)
{
	sai_attribute_t attr = { .id = ATTR_FLOW, .value.u32 = monitor_flow(entry) };
	sai_object_id_t owner = atomic_load(&entries[attr.value.u32]);

	if (owner && owner != entry->id)
		attr.value.u32 = 0;
	for (uint32_t i = 1; i < SOFTSAI_FLOWS && !attr.value.u32; i++)
		if (!atomic_load(&entries[i]))
			attr.value.u32 = i;
	if (!attr.value.u32) {
		fail("ACL entry: %d flows are watched already, and no more can be", SOFTSAI_FLOWS - 1);
		return SAI_STATUS_INSUFFICIENT_RESOURCES;
	}
	if (!atomic_exchange(&entries[attr.value.u32], entry->id))
		watched++;
	return object_store(entry, &attr);
}

sai_status_t monitor_set(struct object *entry)
{
	uint32_t high = mark_of(entry, SAI_ACL_ENTRY_ATTR_ACTION_FLOW_MONITOR_HIGH);
	uint32_t low = mark_of(entry, SAI_ACL_ENTRY_ATTR_ACTION_FLOW_MONITOR_LOW), flow;
	struct softsai_marks marks = { .high = high, .low = low ? low : high / 2 };
	sai_attribute_t none = { .id = ATTR_FLOW };
	sai_status_t status;

	if (!high && !low) {
		monitor_forget(entry);
		return monitor_flow(entry) ? object_store(entry, &none) : SAI_STATUS_SUCCESS;
	}
	if (high < 2 || marks.low >= high) {
		fail("ACL entry: FLOW_MONITOR_HIGH %u, LOW %u: LOW is below HIGH, which is at least 2", high, low);
		return SAI_STATUS_INVALID_PARAMETER;
	}
	status = attach();
	if (!status)
		status = take(entry);
	flow = monitor_flow(entry);
	if (!status && bpf_map_update_elem(map_of(skel->maps.soft_marks), &flow, &marks, BPF_ANY))
		status = SAI_STATUS_FAILURE;
	return status;
}

/* Calls each place where packets of a flow can be. */
static void each_place(uint16_t flow, void (*call)(const struct softsai_occupied *where, void *arg), void *arg)
{
	size_t n;
	uint32_t *ports = port_indexes(&n);

	for (size_t i = 0; ports && i < n; i++) {
		for (uint16_t queue = 0; queue < SOFTSAI_QUEUES; queue++) {
			struct softsai_occupied where = { .ifindex = ports[i], .flow = flow, .queue = queue };

			call(&where, arg);
		}
	}
	free(ports);
}

static void clear(const struct softsai_occupied *where, void *arg)
{
	(void)arg;
	bpf_map_delete_elem(map_of(skel->maps.soft_occupied), where);
}

void monitor_forget(const struct object *entry)
{
	uint32_t flow = monitor_flow(entry);
	struct softsai_marks none = {};

	if (!skel || !flow || atomic_load(&entries[flow]) != entry->id)
		return;
	bpf_map_update_elem(map_of(skel->maps.soft_marks), &flow, &none, BPF_ANY);
	atomic_store(&entries[flow], SAI_NULL_OBJECT_ID);
	each_place(flow, clear, NULL);
	if (--watched == 0)
		detach();
}

/* A queue that a reset emptied is not seen to be empty: no flow has more in it than there is. */
static void add(const struct softsai_occupied *where, void *arg)
{
	struct softsai_occupancy o;
	struct qdisc_stats s;

	if (bpf_map_lookup_elem(map_of(skel->maps.soft_occupied), where, &o) || !o.octets)
		return;
	if (qdisc_stats(where->ifindex, where->queue, &s))
		return;
	*(uint64_t *)arg += o.octets < s.backlog ? o.octets : s.backlog;
}

sai_status_t monitor_occupancy(const struct object *entry, uint64_t *octets)
{
	*octets = 0;
	if (skel && monitor_flow(entry))
		each_place(monitor_flow(entry), add, octets);
	return SAI_STATUS_SUCCESS;
}
