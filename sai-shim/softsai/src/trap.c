#include "trap.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "log.h"
#include "plane.h"
#include "policer.h"
#include "switch.h"

static const struct attribute group_attributes[] = {
	{ SAI_HOSTIF_TRAP_GROUP_ATTR_QUEUE, PLAIN, sizeof(uint32_t), CREATE | SET, NULL },
	{ SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER, PLAIN, sizeof(sai_object_id_t), CREATE | REFERENCE, "policer" },
};

static const struct object *policer_of(const struct object *group)
{
	const sai_attribute_value_t *v = object_value(group, SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER);

	return v ? object_find(v->oid) : NULL;
}

static sai_status_t group_create(struct object *o, bool adopted)
{
	const struct object *policer = policer_of(o);

	(void)adopted;
	if (!policer)
		return SAI_STATUS_SUCCESS;
	if (policer_guards()) {
		fail("trap group: another one polices packets to the CPU already");
		return SAI_STATUS_INSUFFICIENT_RESOURCES;
	}
	return policer_guard_by(policer);
}

static sai_status_t group_remove(struct object *o)
{
	return policer_of(o) ? policer_guard_by(NULL) : SAI_STATUS_SUCCESS;
}

/*
 * There is one way to the CPU, so a group orders nothing, and the policer of one
 * polices all that goes there.
 */
const struct type trap_group_type = {
	.type = SAI_OBJECT_TYPE_HOSTIF_TRAP_GROUP,
	.name = "trap group",
	.attributes = group_attributes,
	.count = sizeof(group_attributes) / sizeof(group_attributes[0]),
	.capability = "trap",
	.create = group_create,
	.remove = group_remove,
};

static const struct attribute trap_attributes[] = {
	{ SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_PRIORITY, PLAIN, sizeof(uint32_t), CREATE, NULL },
	{ SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP, PLAIN, sizeof(sai_object_id_t), CREATE | REFERENCE, NULL },
};

static sai_status_t trap_create(struct object *o, bool adopted)
{
	int32_t type = object_value(o, SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE)->s32;

	(void)adopted;
	return type == SAI_HOSTIF_USER_DEFINED_TRAP_TYPE_ACL ? SAI_STATUS_SUCCESS : SAI_STATUS_NOT_SUPPORTED;
}

const struct type trap_type = {
	.type = SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP,
	.name = "user-defined trap",
	.attributes = trap_attributes,
	.count = sizeof(trap_attributes) / sizeof(trap_attributes[0]),
	.capability = "trap",
	.create = trap_create,
};

static struct {
	pthread_t thread;
	struct ring_buffer *ring;
	int wake; /* eventfd that ends the thread */
	sai_object_id_t switch_id;
	_Atomic(sai_packet_event_notification_fn) notify;
} reader = { .wake = -1 };

void trap_notify(void *function)
{
	atomic_store(&reader.notify, (sai_packet_event_notification_fn)function);
}

static int deliver(void *context, void *data, size_t size)
{
	sai_packet_event_notification_fn notify = atomic_load(&reader.notify);
	const struct softsai_copy *c = data;
	sai_attribute_t attrs[2] = {
		{ .id = SAI_HOSTIF_PACKET_ATTR_INGRESS_PORT },
		{ .id = SAI_HOSTIF_PACKET_ATTR_HOSTIF_TRAP_ID },
	};

	(void)context;
	if (!notify || size < sizeof(*c) || c->captured > sizeof(c->data))
		return 0;
	attrs[0].value.oid = object_id(SAI_OBJECT_TYPE_PORT, c->ifindex);
	if (c->trap)
		attrs[1].value.oid = object_id(SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP, c->trap);
	notify(reader.switch_id, c->captured, c->data, 2, attrs);
	return 0;
}

static void *run(void *arg)
{
	struct pollfd fds[2] = {
		{ .fd = ring_buffer__epoll_fd(reader.ring), .events = POLLIN },
		{ .fd = reader.wake, .events = POLLIN },
	};

	(void)arg;
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR) {
			fail("packets to the CPU end: poll: %s", strerror(errno));
			return NULL;
		}
		if (fds[1].revents)
			return NULL;
		ring_buffer__consume(reader.ring);
	}
}

sai_status_t trap_start(void)
{
	sigset_t all, before;
	int err;

	reader.switch_id = switch_object()->id;
	reader.ring = ring_buffer__new(plane_map(MAP_CPU), deliver, NULL, NULL);
	reader.wake = eventfd(0, EFD_CLOEXEC);
	if (!reader.ring || reader.wake < 0) {
		fail("cannot read packets to the CPU: %s", strerror(errno));
		return SAI_STATUS_FAILURE;
	}
	/* Signals are the caller's: none goes to this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&reader.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		fail("cannot start a thread: %s", strerror(err));
		close(reader.wake);
		reader.wake = -1;
		return SAI_STATUS_FAILURE;
	}
	return SAI_STATUS_SUCCESS;
}

void trap_stop(void)
{
	uint64_t one = 1;

	trap_notify(NULL);
	if (reader.wake >= 0) {
		if (write(reader.wake, &one, sizeof(one)) != sizeof(one))
			fail("cannot wake the packet thread: %s", strerror(errno));
		pthread_join(reader.thread, NULL);
		close(reader.wake);
		reader.wake = -1;
	}
	ring_buffer__free(reader.ring);
	reader.ring = NULL;
}
