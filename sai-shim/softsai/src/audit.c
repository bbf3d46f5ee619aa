// SPDX-License-Identifier: Apache-2.0
#include "audit.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "acl.h"
#include "bpf/queues.h"
#include "egress.h"
#include "egress.skel.h"
#include "filter.h"
#include "hold_queue.h"
#include "log.h"
#include "multipath.h"
#include "object.h"
#include "plane.h"
#include "port.h"
#include "queue.h"
#include "tc_view.h"

#define FILTERS 64 /* at one place of a port, for which there is room at first */
#define ALL_FIFOS ((1U << SOFTSAI_QUEUES) - 1)

/* A direction of a port. */
static const struct side {
	enum bpf_tc_attach_point point;
	const char *program, *ahead; /* parts */
} sides[] = {
	{ BPF_TC_INGRESS, "ingress program", "filter ahead at ingress" },
	{ BPF_TC_EGRESS, "egress program", "filter ahead at egress" },
};

static uint32_t program_id(int fd)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.id;
}

static int program_of(const struct side *s)
{
	return s->point == BPF_TC_INGRESS ? plane_program() : bpf_program__fd(egress_programs()->progs.softsai_egress);
}

/* The name that the kernel has of a program, else that of its filter. */
static void name_program(struct tc_filter *f)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	int fd = f->program ? bpf_prog_get_fd_by_id(f->program) : -1;

	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size) && *info.name)
		memcpy(f->name, info.name, sizeof(info.name));
	close(fd);
}

/* All filters of a port in the order in which packets meet them, to be freed; NULL: *err says why. */
static struct tc_filter *read_filters(uint32_t ifindex, enum bpf_tc_attach_point point, size_t *n, int *err)
{
	for (size_t room = FILTERS;; room = *n + FILTERS) {
		struct tc_filter *all = calloc(room, sizeof(*all));

		*err = all ? tc_view_filters(ifindex, point, all, room, n) : -ENOMEM;
		if (!*err && *n <= room)
			return all;
		free(all);
		if (*err)
			return NULL;
	}
}

static void check_filters(struct drift_list *l, const struct side *s, const char *name, struct tc_filter *all, size_t n)
{
	uint32_t id = program_id(program_of(s));
	char others[40] = "";
	size_t ahead = 0;

	while (ahead < n && (all[ahead].preference != FILTER_PREFERENCE || all[ahead].handle != FILTER_HANDLE))
		ahead++;
	if (ahead == n) {
		drift_add(l, s->program, name, true, "the filter of Sluice's program is gone");
		return;
	}
	if (all[ahead].program != id) {
		name_program(&all[ahead]);
		drift_add(l, s->program, name, false, "another program is in its place: %s, id %u", all[ahead].name,
			  all[ahead].program);
	}
	if (!ahead)
		return;
	name_program(all);
	if (ahead > 1)
		snprintf(others, sizeof(others), ", the first of %zu,", ahead);
	drift_add(
		l, s->ahead, name, false,
		"%s filter %s (preference %u, program %u)%s is ahead of Sluice's, which does not see packets that it lets through or drops",
		all->kind, all->name, all->preference, all->program, others);
}

static int check_side(struct drift_list *l, const struct side *s, uint32_t ifindex, const char *name)
{
	size_t n = 0;
	int err;
	struct tc_filter *all = read_filters(ifindex, s->point, &n, &err);

	if (all)
		check_filters(l, s, name, all, n);
	free(all);
	return err;
}

static void check_queues(struct drift_list *l, const struct tc_qdiscs *q, const char *name)
{
	if (q->root != SOFTSAI_HTB || strcmp(q->kind, "htb") != 0)
		drift_add(l, "root qdisc", name, true,
			  "it is %s %x: instead of htb %x:", *q->kind ? q->kind : "the kernel's default", q->root >> 16,
			  SOFTSAI_HTB >> 16);
	else if (q->fifos != ALL_FIFOS)
		drift_add(l, "root qdisc", name, true, "of its %d queues some are gone", SOFTSAI_QUEUES);
}

/* The programs of a port, where its clsact qdisc was there. */
static int check_programs(struct drift_list *l, const struct tc_qdiscs *q)
{
	char name[IF_NAMESIZE];
	int err;

	/* A netdev that is gone, or no port any more: ports are reloaded. */
	if (!q->clsact || !object_find(object_id(SAI_OBJECT_TYPE_PORT, q->ifindex)) ||
	    !if_indextoname(q->ifindex, name))
		return 0;
	err = check_side(l, &sides[0], q->ifindex, name);
	if (!err && queue_count(q->ifindex))
		err = check_side(l, &sides[1], q->ifindex, name);
	return err;
}

static void check_qdiscs(struct drift_list *l, const struct tc_qdiscs *q)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(q->ifindex, name))
		return;
	if (!q->clsact)
		drift_add(l, "clsact", name, true, "the qdisc is gone, and Sluice's programs with it");
	if (queue_count(q->ifindex))
		check_queues(l, q, name);
}

static int by_ifindex(const void *a, const void *b)
{
	const struct tc_qdiscs *x = a, *y = b;

	return (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
}

/* The ports as the first piece of an audit found them. */
static struct {
	struct tc_qdiscs *ports;
	size_t n;
} found;

static void forget_ports(void)
{
	free(found.ports);
	found.ports = NULL;
	found.n = 0;
}

/* The first piece: the qdiscs of all ports, which the kernel lists together. */
static int audit_qdiscs(struct drift_list *l)
{
	size_t n;
	uint32_t *indexes = port_indexes(&n);
	int err;

	forget_ports();
	found.ports = calloc(n + 1, sizeof(*found.ports));
	err = indexes && found.ports ? 0 : -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		found.ports[i].ifindex = indexes[i];
	free(indexes);
	if (!err) {
		qsort(found.ports, n, sizeof(*found.ports), by_ifindex);
		err = tc_view_qdiscs(found.ports, n);
	}
	if (err) {
		forget_ports();
		return err;
	}
	found.n = n;
	for (size_t i = 0; i < n; i++)
		check_qdiscs(l, &found.ports[i]);
	acl_audit_begin();
	return 0;
}

/* All but ports and ACL entries. */
static int audit_rest(struct drift_list *l)
{
	int err = multipath_audit(l);

	if (err)
		return err;
	hold_queues_audit(l);
	port_audit(l);
	acl_audit_tables(l);
	return 0;
}

#define PORTS_A_PIECE 4

/* Pieces after the first: of ports, then audit_rest, then all others of ACL entries. */
static int audit_piece(uint32_t piece, struct drift_list *l, bool *last)
{
	size_t ports = (found.n + PORTS_A_PIECE - 1) / PORTS_A_PIECE, from = (size_t)(piece - 1) * PORTS_A_PIECE;
	int err = 0;

	if (piece > ports + 1) {
		*last = acl_audit_entries(l);
		return 0;
	}
	if (piece == ports + 1)
		return audit_rest(l);
	for (size_t i = from; i < from + PORTS_A_PIECE && i < found.n && !err; i++)
		err = check_programs(l, &found.ports[i]);
	return err;
}

sai_status_t audit(uint32_t *piece, struct drift_list *l)
{
	bool last = false;
	int err = *piece ? audit_piece(*piece, l, &last) : audit_qdiscs(l);

	if (err) {
		fail("cannot read the parts of the switch: %s", strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	*piece = last ? 0 : *piece + 1;
	return SAI_STATUS_SUCCESS;
}

static int mend_programs(const char *netdev)
{
	uint32_t ifindex = if_nametoindex(netdev);
	int err = ifindex ? plane_mend(ifindex) : -ENODEV;

	if (!err && queue_count(ifindex))
		err = egress_attach(ifindex);
	return err;
}

static int mend_queues(const char *netdev)
{
	uint32_t ifindex = if_nametoindex(netdev);

	return ifindex ? queue_mend(ifindex) : -ENODEV;
}

static int mend_hash(const char *sysctl)
{
	(void)sysctl;
	return multipath_mend();
}

static int mend_holds(const char *device)
{
	(void)device;
	return hold_queues_mend();
}

static int mend_port_map(const char *port)
{
	(void)port;
	port_change();
	return 0;
}

static int mend_acl(const char *table)
{
	(void)table;
	return acl_mend() ? -EIO : 0;
}

static const struct {
	const char *part;
	int (*mend)(const char *place);
} mends[] = {
	{ "clsact", mend_programs },	     { "ingress program", mend_programs },
	{ "egress program", mend_programs }, { "root qdisc", mend_queues },
	{ HOLD_PART, mend_holds },	     { "hash", mend_hash },
	{ "port map", mend_port_map },	     { "ACL table", mend_acl },
	{ "ACL entries", mend_acl },
};

sai_status_t audit_mend(const sai_sluice_drift_t *drift)
{
	for (size_t i = 0; drift->mendable && i < sizeof(mends) / sizeof(mends[0]); i++) {
		int err;

		if (strcmp(mends[i].part, drift->part) != 0)
			continue;
		err = mends[i].mend(drift->place);
		if (err)
			fail("cannot put back %s %s: %s", drift->part, drift->place, strerror(-err));
		return err ? SAI_STATUS_FAILURE : SAI_STATUS_SUCCESS;
	}
	return SAI_STATUS_NOT_SUPPORTED;
}
