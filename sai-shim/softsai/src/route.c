// SPDX-License-Identifier: Apache-2.0
#include "route.h"

#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include "index.h"
#include "log.h"
#include "plane.h"

#define DEFAULT_NUMBER (1ULL << 40) /* above every number that the records count to */
#define OID sizeof(sai_object_id_t)

const struct type virtual_router_type = {
	.type = SAI_OBJECT_TYPE_VIRTUAL_ROUTER,
	.name = "virtual router",
	.capability = "redirect",
	.built_in = true,
};

sai_object_id_t route_default(void)
{
	return object_id(SAI_OBJECT_TYPE_VIRTUAL_ROUTER, DEFAULT_NUMBER);
}

sai_status_t route_make_default(void)
{
	return object_build(&virtual_router_type, route_default(), 0, NULL);
}

static const struct attribute interface_attributes[] = {
	{ SAI_ROUTER_INTERFACE_ATTR_VIRTUAL_ROUTER_ID, PLAIN, OID, CREATE | MUST | REFERENCE, NULL },
	{ SAI_ROUTER_INTERFACE_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_ROUTER_INTERFACE_ATTR_PORT_ID, PLAIN, OID, CREATE | MUST | REFERENCE, NULL },
};

struct same {
	const struct object *than;
	bool found;
};

static void compare_port(struct object *o, void *arg)
{
	struct same *s = arg;

	if (o != s->than && object_value(o, SAI_ROUTER_INTERFACE_ATTR_PORT_ID)->oid ==
				    object_value(s->than, SAI_ROUTER_INTERFACE_ATTR_PORT_ID)->oid)
		s->found = true;
}

/* A port has one interface, as on ASICs. */
static sai_status_t interface_create(struct object *o, bool adopted)
{
	struct same s = { .than = o };

	if (object_value(o, SAI_ROUTER_INTERFACE_ATTR_TYPE)->s32 != SAI_ROUTER_INTERFACE_TYPE_PORT)
		return SAI_STATUS_NOT_SUPPORTED;
	if (!object_find_of(object_value(o, SAI_ROUTER_INTERFACE_ATTR_PORT_ID)->oid, SAI_OBJECT_TYPE_PORT))
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (!adopted)
		object_each(SAI_OBJECT_TYPE_ROUTER_INTERFACE, compare_port, &s);
	return s.found ? SAI_STATUS_ITEM_ALREADY_EXISTS : SAI_STATUS_SUCCESS;
}

const struct type router_interface_type = {
	.type = SAI_OBJECT_TYPE_ROUTER_INTERFACE,
	.name = "router interface",
	.attributes = interface_attributes,
	.count = sizeof(interface_attributes) / sizeof(interface_attributes[0]),
	.capability = "redirect",
	.create = interface_create,
};

static const struct attribute hop_attributes[] = {
	{ SAI_NEXT_HOP_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_NEXT_HOP_ATTR_IP, PLAIN, sizeof(sai_ip_address_t), CREATE | MUST, NULL },
	{ SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID, PLAIN, OID, CREATE | MUST | REFERENCE, NULL },
	{ ATTR_INDEX, PLAIN, sizeof(uint32_t), 0, NULL },
};

static sai_status_t write_hop(uint32_t index, const struct softsai_hop *hop)
{
	int err = bpf_map_update_elem(plane_map(MAP_HOPS), &index, hop, BPF_ANY);

	if (err)
		fail("next hop: %s", strerror(-err));
	return err ? SAI_STATUS_FAILURE : SAI_STATUS_SUCCESS;
}

static sai_status_t hop_create(struct object *o, bool adopted)
{
	const sai_ip_address_t *ip = &object_value(o, SAI_NEXT_HOP_ATTR_IP)->ipaddr;
	const struct object *interface = object_find_of(object_value(o, SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID)->oid,
							SAI_OBJECT_TYPE_ROUTER_INTERFACE);
	struct softsai_hop hop = { .family = ip->addr_family ? AF_INET6 : AF_INET };
	sai_status_t status;

	if (object_value(o, SAI_NEXT_HOP_ATTR_TYPE)->s32 != SAI_NEXT_HOP_TYPE_IP)
		return SAI_STATUS_NOT_SUPPORTED;
	if (!interface)
		return SAI_STATUS_INVALID_OBJECT_ID;
	hop.ifindex = object_number(object_value(interface, SAI_ROUTER_INTERFACE_ATTR_PORT_ID)->oid);
	memcpy(hop.address, &ip->addr, ip->addr_family ? sizeof(ip->addr.ip6) : sizeof(ip->addr.ip4));
	status = index_take(o, POOL_HOPS, 0, SOFTSAI_HOPS, adopted);
	if (status)
		return status;
	status = write_hop(index_of(o), &hop);
	if (status)
		index_release(o, POOL_HOPS);
	return status;
}

static sai_status_t hop_remove(struct object *o)
{
	sai_status_t status = write_hop(index_of(o), &(struct softsai_hop){});

	if (!status)
		index_release(o, POOL_HOPS);
	return status;
}

const struct type next_hop_type = {
	.type = SAI_OBJECT_TYPE_NEXT_HOP,
	.name = "next hop",
	.attributes = hop_attributes,
	.count = sizeof(hop_attributes) / sizeof(hop_attributes[0]),
	.capability = "redirect",
	.create = hop_create,
	.remove = hop_remove,
};

uint32_t next_hop_index(const struct object *hop)
{
	return index_of(hop);
}
