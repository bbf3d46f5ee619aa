// SPDX-License-Identifier: Apache-2.0
#include "port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "acl_view.h"
#include "hash.h"
#include "log.h"
#include "net.h"
#include "plane.h"
#include "queue.h"
#include "tap.h"
#include "value.h"

#define MAX_LANES 16

struct port {
	uint32_t ifindex;
	char name[NET_NAME];
	uint32_t lanes[MAX_LANES];
	uint32_t lane_count;
};

static struct port *ports;
static size_t count;
static bool changed; /* a port's binding, since the last commit */

static const struct attribute port_attributes[] = {
	{ SAI_PORT_ATTR_TYPE, PLAIN, sizeof(int32_t), 0, NULL },
	{ SAI_PORT_ATTR_OPER_STATUS, PLAIN, sizeof(int32_t), 0, NULL },
	{ SAI_PORT_ATTR_ADMIN_STATE, PLAIN, sizeof(bool), 0, NULL },
	{ SAI_PORT_ATTR_HW_LANE_LIST, LIST, sizeof(uint32_t), 0, NULL },
	{ SAI_PORT_ATTR_SPEED, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_PORT_ATTR_OPER_SPEED, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_PORT_ATTR_MTU, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_PORT_ATTR_QOS_NUMBER_OF_QUEUES, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_PORT_ATTR_QOS_QUEUE_LIST, LIST, sizeof(sai_object_id_t), 0, NULL },
	{ SAI_PORT_ATTR_INGRESS_ACL, PLAIN, sizeof(sai_object_id_t), SET | REFERENCE, NULL },
};

static struct port *port_of(const struct object *o)
{
	for (size_t i = 0; i < count; i++)
		if (ports[i].ifindex == object_number(o->id))
			return &ports[i];
	return NULL;
}

/* Lanes "1,2,3" after the name; without them the ifindex is the lane. */
static bool parse_lanes(struct port *p, const char *text)
{
	char *end;

	p->lane_count = 0;
	while (text) {
		unsigned long lane = strtoul(text, &end, 10);

		if (end == text || (*end && *end != ',') || p->lane_count == MAX_LANES)
			return false;
		p->lanes[p->lane_count++] = lane;
		text = *end ? end + 1 : NULL;
	}
	return true;
}

static sai_status_t add(const struct net_link *link, const char *lanes)
{
	struct port *more = realloc(ports, (count + 1) * sizeof(*more)), *p;

	if (!more)
		return SAI_STATUS_NO_MEMORY;
	ports = more;
	p = &ports[count++];
	*p = (struct port){ .ifindex = link->ifindex, .lanes = { link->ifindex }, .lane_count = 1 };
	memcpy(p->name, link->name, sizeof(p->name));
	if (link->ifindex >= SOFTSAI_PORTS) {
		fail("port %s has index %u; below %d is allowed", link->name, link->ifindex, SOFTSAI_PORTS);
		return SAI_STATUS_INVALID_PARAMETER;
	}
	if (lanes && !parse_lanes(p, lanes)) {
		fail("SLUICE_PORTS: port %s has lanes \"%s\"; up to %d numbers are allowed, with commas between",
		     p->name, lanes, MAX_LANES);
		return SAI_STATUS_INVALID_PARAMETER;
	}
	return SAI_STATUS_SUCCESS;
}

static sai_status_t add_named(char *list)
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	struct net_link link;
	char *word, *next, *lanes;
	int err;

	for (word = strtok_r(list, " \t\n", &next); word && !status; word = strtok_r(NULL, " \t\n", &next)) {
		lanes = strchr(word, ':');
		if (lanes)
			*lanes++ = 0;
		err = net_link(word, 0, &link);
		if (err) {
			fail("SLUICE_PORTS: port %s: %s", word, err == -ENODEV ? "no such netdev" : strerror(-err));
			return SAI_STATUS_INVALID_PARAMETER;
		}
		status = add(&link, lanes);
	}
	return status;
}

static sai_status_t add_all(void)
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	struct net_link *links = NULL;
	int n, err = net_links(&links, &n);

	if (err) {
		fail("cannot list netdevs: %s", strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	for (int i = 0; i < n && !status; i++)
		if (strncmp(links[i].name, TAP_NETDEV, strlen(TAP_NETDEV)) != 0)
			status = add(&links[i], NULL);
	free(links);
	return status;
}

sai_status_t port_find(const char *list)
{
	char *copy = list ? strdup(list) : NULL;
	sai_status_t status;

	if (list && !copy)
		return SAI_STATUS_NO_MEMORY;
	status = list ? add_named(copy) : add_all();
	free(copy);
	if (!status && !count) {
		fail("there is no port: SLUICE_PORTS names netdevs, else every netdev but lo is a port, and this namespace has only lo");
		status = SAI_STATUS_INVALID_PARAMETER;
	}
	return status;
}

static bool has(const struct port *list, size_t n, uint32_t ifindex)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].ifindex == ifindex)
			return true;
	return false;
}

sai_status_t port_replace(const char *list)
{
	struct port *was = ports;
	size_t had = count;
	sai_status_t status;

	ports = NULL;
	count = 0;
	status = port_find(list);
	for (size_t i = 0; i < had && !status; i++) {
		struct object *o = object_find(object_id(SAI_OBJECT_TYPE_PORT, was[i].ifindex));

		if (o && o->references && !has(ports, count, was[i].ifindex))
			status = SAI_STATUS_OBJECT_IN_USE;
	}
	free(status ? ports : was);
	if (status) {
		ports = was;
		count = had;
	}
	return status;
}

uint32_t *port_indexes(size_t *n)
{
	uint32_t *all = calloc(count + 1, sizeof(*all));

	for (size_t i = 0; all && i < count; i++)
		all[i] = ports[i].ifindex;
	*n = count;
	return all;
}

uint32_t *port_others(size_t *n)
{
	struct net_link *links = NULL;
	uint32_t *others = NULL;
	int total = 0, err = net_links(&links, &total);

	*n = 0;
	if (err)
		fail("cannot list netdevs: %s", strerror(-err));
	else
		others = calloc(total + 1, sizeof(*others));
	for (int i = 0; others && i < total; i++)
		if (!has(ports, count, links[i].ifindex))
			others[(*n)++] = links[i].ifindex;
	free(links);
	return others;
}

sai_status_t port_make(void)
{
	sai_status_t status = SAI_STATUS_SUCCESS;

	for (size_t i = 0; i < count && !status; i++) {
		sai_object_id_t id = object_id(SAI_OBJECT_TYPE_PORT, ports[i].ifindex);

		if (!object_find(id))
			status = object_build(&port_type, id, 0, NULL);
	}
	return status;
}

static struct softsai_port compile(const struct object *o)
{
	const sai_attribute_value_t *v = object_value(o, SAI_PORT_ATTR_INGRESS_ACL);
	struct object *table = v ? object_find_of(v->oid, SAI_OBJECT_TYPE_ACL_TABLE) : NULL;
	struct softsai_port p = {};

	if (table)
		p.view = ((struct acl_table *)table->state)->view;
	hash_steering(&p);
	return p;
}

static void publish(struct object *o, void *arg)
{
	struct softsai_port p = compile(o);
	uint32_t ifindex = object_number(o->id);
	sai_status_t *status = arg;
	int err;

	err = bpf_map_update_elem(plane_map(MAP_PORTS), &ifindex, &p, BPF_ANY);
	if (!err)
		return;
	fail("port with index %u: %s", ifindex, strerror(-err));
	*status = SAI_STATUS_FAILURE;
}

sai_status_t port_publish(void)
{
	sai_status_t status = SAI_STATUS_SUCCESS;

	object_each(SAI_OBJECT_TYPE_PORT, publish, &status);
	return status;
}

static void check(struct object *o, void *arg)
{
	struct softsai_port p = compile(o), there = {};
	uint32_t ifindex = object_number(o->id);
	const struct port *port = port_of(o);

	if (port && !bpf_map_lookup_elem(plane_map(MAP_PORTS), &ifindex, &there) && memcmp(&p, &there, sizeof(p)) != 0)
		drift_add(arg, "port map", port->name, true, "its element of the BPF map soft_ports is another");
}

void port_audit(struct drift_list *l)
{
	object_each(SAI_OBJECT_TYPE_PORT, check, l);
}

void port_change(void)
{
	changed = true;
}

bool port_changed(void)
{
	bool was = changed;

	changed = false;
	return was;
}

static sai_status_t port_set(struct object *o, sai_attr_id_t id)
{
	sai_object_id_t table = object_value(o, id)->oid;

	if (table != SAI_NULL_OBJECT_ID && !object_find_of(table, SAI_OBJECT_TYPE_ACL_TABLE))
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	port_change();
	return SAI_STATUS_SUCCESS;
}

static sai_status_t port_get(struct object *o, sai_attribute_t *attr)
{
	struct port *p = port_of(o);
	struct net_link link;
	int err;

	switch (attr->id) {
	case SAI_PORT_ATTR_INGRESS_ACL:
	case SAI_PORT_ATTR_TYPE: /* 0: logical, which front panel ports are */
		return SAI_STATUS_ITEM_NOT_FOUND;
	case SAI_PORT_ATTR_QOS_QUEUE_LIST:
		return queue_list(p->ifindex, &attr->value.objlist);
	case SAI_PORT_ATTR_QOS_NUMBER_OF_QUEUES:
		attr->value.u32 = queue_count(p->ifindex);
		return SAI_STATUS_SUCCESS;
	case SAI_PORT_ATTR_HW_LANE_LIST:
		return value_fill(&attr->value.u32list, p->lanes, p->lane_count, sizeof(p->lanes[0]));
	case SAI_PORT_ATTR_SPEED:
	case SAI_PORT_ATTR_OPER_SPEED:
		attr->value.u32 = net_speed(p->name);
		return SAI_STATUS_SUCCESS;
	}
	err = net_link(NULL, p->ifindex, &link);
	if (err == -ENODEV) { /* the netdev is gone */
		memset(&link, 0, sizeof(link));
	} else if (err) {
		fail("port %s: %s", p->name, strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	if (attr->id == SAI_PORT_ATTR_OPER_STATUS)
		attr->value.s32 = link.up ? SAI_PORT_OPER_STATUS_UP : SAI_PORT_OPER_STATUS_DOWN;
	else if (attr->id == SAI_PORT_ATTR_ADMIN_STATE)
		attr->value.booldata = link.admin_up;
	else
		attr->value.u32 = link.mtu;
	return SAI_STATUS_SUCCESS;
}

static bool stat_of(const struct net_link *l, sai_stat_id_t id, uint64_t *value)
{
	switch (id) {
	case SAI_PORT_STAT_IF_IN_OCTETS:
		*value = l->rx_bytes;
		return true;
	case SAI_PORT_STAT_IF_IN_UCAST_PKTS: /* the kernel counts multicast among all, broadcast with it */
		*value = l->rx_packets - l->rx_multicast;
		return true;
	case SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS:
		*value = l->rx_multicast;
		return true;
	case SAI_PORT_STAT_IF_IN_DISCARDS:
		*value = l->rx_dropped;
		return true;
	case SAI_PORT_STAT_IF_IN_ERRORS:
		*value = l->rx_errors;
		return true;
	case SAI_PORT_STAT_IF_OUT_OCTETS:
		*value = l->tx_bytes;
		return true;
	case SAI_PORT_STAT_IF_OUT_UCAST_PKTS: /* the kernel counts them together */
		*value = l->tx_packets;
		return true;
	case SAI_PORT_STAT_IF_OUT_DISCARDS:
		*value = l->tx_dropped;
		return true;
	case SAI_PORT_STAT_IF_OUT_ERRORS:
		*value = l->tx_errors;
		return true;
	}
	return false;
}

/* Copies lost on the way to the CPU, for any reason. */
static sai_status_t cpu_discards(uint64_t *sum)
{
	uint64_t *each = calloc(plane_cpus(), sizeof(*each));
	int err = each ? 0 : -ENOMEM;

	*sum = 0;
	for (uint32_t reason = 0; !err && reason < SOFTSAI_LOST_REASONS; reason++) {
		err = bpf_map_lookup_elem(plane_map(MAP_LOST), &reason, each);
		for (int i = 0; !err && i < plane_cpus(); i++)
			*sum += each[i];
	}
	free(each);
	return err ? SAI_STATUS_FAILURE : SAI_STATUS_SUCCESS;
}

sai_status_t port_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values)
{
	struct net_link link;
	int err;

	if (id == object_id(SAI_OBJECT_TYPE_PORT, 0)) { /* see SAI_SWITCH_ATTR_CPU_PORT */
		if (n != 1 || ids[0] != SAI_PORT_STAT_IF_OUT_DISCARDS)
			return SAI_STATUS_NOT_SUPPORTED;
		return cpu_discards(values);
	}
	if (!object_find_of(id, SAI_OBJECT_TYPE_PORT))
		return SAI_STATUS_INVALID_OBJECT_ID;
	err = net_link(NULL, object_number(id), &link);
	if (err) {
		fail("port with index %u: %s", (uint32_t)object_number(id), strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!stat_of(&link, ids[i], &values[i]))
			return SAI_STATUS_NOT_SUPPORTED;
	return SAI_STATUS_SUCCESS;
}

uint32_t port_count(void)
{
	return count;
}

sai_status_t port_list(sai_object_list_t *list)
{
	sai_object_id_t *ids = calloc(count + 1, sizeof(*ids));
	sai_status_t status = SAI_STATUS_NO_MEMORY;

	for (size_t i = 0; ids && i < count; i++)
		ids[i] = object_id(SAI_OBJECT_TYPE_PORT, ports[i].ifindex);
	if (ids)
		status = value_fill(list, ids, count, sizeof(*ids));
	free(ids);
	return status;
}

void port_forget(void)
{
	free(ports);
	ports = NULL;
	count = 0;
}

const struct type port_type = {
	.type = SAI_OBJECT_TYPE_PORT,
	.name = "port",
	.attributes = port_attributes,
	.count = sizeof(port_attributes) / sizeof(port_attributes[0]),
	.built_in = true,
	.set = port_set,
	.get = port_get,
};
