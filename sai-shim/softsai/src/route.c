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

static const struct attribute group_attributes[] = {
	{ SAI_NEXT_HOP_GROUP_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_NEXT_HOP_GROUP_ATTR_SET_SWITCHOVER, PLAIN, sizeof(bool), CREATE | SET, NULL },
	{ ATTR_INDEX, PLAIN, sizeof(uint32_t), 0, NULL },
};

static bool protects(const struct object *group)
{
	return object_value(group, SAI_NEXT_HOP_GROUP_ATTR_TYPE)->s32 == SAI_NEXT_HOP_GROUP_TYPE_PROTECTION;
}

/* The role in effect of a group, and the member that has it. */
struct active {
	const struct object *group, *but; /* but: a member that goes */
	int32_t role;
	const struct object *hop; /* NULL: the routes of the kernel */
};

static void find_active(struct object *member, void *arg)
{
	const sai_attribute_value_t *role = object_value(member, SAI_NEXT_HOP_GROUP_MEMBER_ATTR_CONFIGURED_ROLE);
	struct active *a = arg;

	if (member != a->but && role && role->s32 == a->role &&
	    object_value(member, SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID)->oid == a->group->id)
		a->hop = object_find_of(object_value(member, SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID)->oid,
					SAI_OBJECT_TYPE_NEXT_HOP);
}

/* Brings the next hop of a group that protects to the data plane. */
static sai_status_t write_group(const struct object *group, const struct object *but)
{
	const sai_attribute_value_t *over = object_value(group, SAI_NEXT_HOP_GROUP_ATTR_SET_SWITCHOVER);
	struct active a = { .group = group, .but = but, .role = SAI_NEXT_HOP_GROUP_MEMBER_CONFIGURED_ROLE_PRIMARY };
	struct softsai_hop hop = {};
	uint32_t from;

	if (over && over->booldata)
		a.role = SAI_NEXT_HOP_GROUP_MEMBER_CONFIGURED_ROLE_STANDBY;
	object_each(SAI_OBJECT_TYPE_NEXT_HOP_GROUP_MEMBER, find_active, &a);
	if (a.hop) {
		from = index_of(a.hop);
		if (bpf_map_lookup_elem(plane_map(MAP_HOPS), &from, &hop))
			return SAI_STATUS_FAILURE;
	}
	return write_hop(index_of(group), &hop);
}

static sai_status_t group_create(struct object *o, bool adopted)
{
	sai_status_t status;

	if (!protects(o))
		return object_value(o, SAI_NEXT_HOP_GROUP_ATTR_TYPE)->s32 == SAI_NEXT_HOP_GROUP_TYPE_ECMP
			       ? SAI_STATUS_SUCCESS
			       : SAI_STATUS_NOT_SUPPORTED;
	status = index_take(o, POOL_HOPS, 0, SOFTSAI_HOPS, adopted);
	if (status || adopted) /* its members come after it */
		return status;
	status = write_group(o, NULL);
	if (status)
		index_release(o, POOL_HOPS);
	return status;
}

static sai_status_t group_set(struct object *o, sai_attr_id_t id)
{
	(void)id; /* SET_SWITCHOVER */
	return protects(o) ? write_group(o, NULL) : SAI_STATUS_NOT_SUPPORTED;
}

static sai_status_t group_remove(struct object *o)
{
	return protects(o) ? hop_remove(o) : SAI_STATUS_SUCCESS;
}

const struct type next_hop_group_type = {
	.type = SAI_OBJECT_TYPE_NEXT_HOP_GROUP,
	.name = "next hop group",
	.attributes = group_attributes,
	.count = sizeof(group_attributes) / sizeof(group_attributes[0]),
	.capability = "redirect",
	.create = group_create,
	.set = group_set,
	.remove = group_remove,
};

static const struct attribute member_attributes[] = {
	{ SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID, PLAIN, OID, CREATE | MUST | REFERENCE, NULL },
	{ SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID, PLAIN, OID, CREATE | MUST | REFERENCE, NULL },
	{ SAI_NEXT_HOP_GROUP_MEMBER_ATTR_CONFIGURED_ROLE, PLAIN, sizeof(int32_t), CREATE, NULL },
};

static struct object *group_of(const struct object *member)
{
	return object_find_of(object_value(member, SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID)->oid,
			      SAI_OBJECT_TYPE_NEXT_HOP_GROUP);
}

static sai_status_t member_create(struct object *o, bool adopted)
{
	sai_object_id_t to = object_value(o, SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID)->oid;
	const sai_attribute_value_t *role = object_value(o, SAI_NEXT_HOP_GROUP_MEMBER_ATTR_CONFIGURED_ROLE);
	const struct object *group = group_of(o), *within = object_find_of(to, SAI_OBJECT_TYPE_NEXT_HOP_GROUP);

	(void)adopted;
	if (!group || (!within && !object_find_of(to, SAI_OBJECT_TYPE_NEXT_HOP)))
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (!protects(group))
		return within ? SAI_STATUS_NOT_SUPPORTED : SAI_STATUS_SUCCESS;
	if (!role || (within && (protects(within) || role->s32 != SAI_NEXT_HOP_GROUP_MEMBER_CONFIGURED_ROLE_STANDBY)))
		return SAI_STATUS_INVALID_PARAMETER;
	return write_group(group, NULL);
}

static sai_status_t member_remove(struct object *o)
{
	const struct object *group = group_of(o);

	return protects(group) ? write_group(group, o) : SAI_STATUS_SUCCESS;
}

const struct type next_hop_group_member_type = {
	.type = SAI_OBJECT_TYPE_NEXT_HOP_GROUP_MEMBER,
	.name = "next hop group member",
	.attributes = member_attributes,
	.count = sizeof(member_attributes) / sizeof(member_attributes[0]),
	.capability = "redirect",
	.create = member_create,
	.remove = member_remove,
};

const struct object *redirect_target(sai_object_id_t id)
{
	const struct object *o = object_find_of(id, SAI_OBJECT_TYPE_NEXT_HOP);

	if (o)
		return o;
	o = object_find_of(id, SAI_OBJECT_TYPE_NEXT_HOP_GROUP);
	return o && protects(o) ? o : NULL;
}

uint32_t next_hop_index(const struct object *hop)
{
	return index_of(hop);
}
