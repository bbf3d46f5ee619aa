// SPDX-License-Identifier: Apache-2.0
#include "hash.h"

#include <arpa/inet.h>
#include <string.h>

#include "hide.h"
#include "log.h"
#include "multipath.h"
#include "udf.h"
#include "value.h"

/* Above every number that the records count to. */
#define DEFAULT_NUMBER (1ULL << 40)

/* Bits of fib_multipath_hash_fields, and one that softsai adds. */
#define FIELD_LABEL 0x0008
#define FIELD_SRC_PORT 0x0010
#define FIELD_QP 0x10000
#define FIELD_ADDRESSES 0x0003

static const struct {
	int32_t native;
	uint32_t bit;
	const char *capability;
} fields[] = {
	{ SAI_NATIVE_HASH_FIELD_SRC_IP, 0x0001, NULL },
	{ SAI_NATIVE_HASH_FIELD_DST_IP, 0x0002, NULL },
	{ SAI_NATIVE_HASH_FIELD_IP_PROTOCOL, 0x0004, NULL },
	{ SAI_NATIVE_HASH_FIELD_IPV6_FLOW_LABEL, FIELD_LABEL, "flow-label-hash" },
	{ SAI_NATIVE_HASH_FIELD_L4_SRC_PORT, FIELD_SRC_PORT, NULL },
	{ SAI_NATIVE_HASH_FIELD_L4_DST_PORT, 0x0020, NULL },
	{ SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP, FIELD_QP, "hash" },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static struct softsai_steer steering[2]; /* of IPv4, IPv6 */
static bool changed;			 /* a hash, since the last commit */

void hash_steering(struct softsai_port *port)
{
	port->steer4 = steering[0];
	port->steer6 = steering[1];
}

uint32_t hash_fields(int32_t *list, uint32_t room)
{
	uint32_t n = 0;

	for (size_t i = 0; i < FIELDS; i++) {
		if (hidden(fields[i].capability))
			continue;
		if (n < room)
			list[n] = fields[i].native;
		n++;
	}
	return n;
}

static uint32_t bit_of(int32_t native)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].native == native && !hidden(fields[i].capability))
			return fields[i].bit;
	return 0;
}

static const struct attribute hash_attributes[] = {
	{ SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, LIST, sizeof(int32_t), CREATE | SET, NULL },
	{ SAI_HASH_ATTR_UDF_GROUP_LIST, LIST, sizeof(sai_object_id_t), CREATE | SET | REFERENCE, "udf-hash" },
};

/* The fields in an object's lists. */
struct wanted {
	uint32_t fields; /* of the kernel */
	uint32_t bth;	 /* of the packet's BTH, octets 4-7 */
};

static bool read_lists(const struct object *o, struct wanted *w, sai_attr_id_t *bad)
{
	const sai_attribute_value_t *native = object_value(o, SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST);
	const sai_attribute_value_t *groups = object_value(o, SAI_HASH_ATTR_UDF_GROUP_LIST);
	uint32_t mask;

	*w = (struct wanted){};
	*bad = SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST;
	for (uint32_t i = 0; native && i < native->s32list.count; i++) {
		uint32_t bit = bit_of(native->s32list.list[i]);

		if (!bit) {
			fail("hash: native field %d is not one that this switch has", native->s32list.list[i]);
			return false;
		}
		w->fields |= bit;
	}
	if (w->fields & FIELD_QP)
		w->bth |= 0xffffff;
	w->fields &= ~FIELD_QP;
	*bad = SAI_HASH_ATTR_UDF_GROUP_LIST;
	for (uint32_t i = 0; groups && i < groups->objlist.count; i++) {
		const struct object *group = object_find(groups->objlist.list[i]);

		if (!group || !udf_group_hash_mask(group, &mask)) {
			fail("hash: a group of its list is no UDF group with a UDF");
			return false;
		}
		w->bth |= mask;
	}
	*bad = SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST;
	if (w->bth &&
	    ((w->fields & FIELD_ADDRESSES) != FIELD_ADDRESSES || !(w->fields & (FIELD_LABEL | FIELD_SRC_PORT)))) {
		fail("hash: beside a queue pair or UDF the list must have SRC_IP, DST_IP, and L4_SRC_PORT or IPV6_FLOW_LABEL");
		return false;
	}
	return true;
}

static sai_status_t hash_create(struct object *o, bool adopted)
{
	struct wanted w;
	sai_attr_id_t bad;
	sai_attribute_t attr;

	(void)adopted;
	if (read_lists(o, &w, &bad))
		return SAI_STATUS_SUCCESS;
	for (uint32_t i = 0, at = 0; object_next(o, &at, &attr); i++)
		if (attr.id == bad)
			return attribute_status(SAI_STATUS_ATTR_NOT_SUPPORTED_0, i);
	return SAI_STATUS_NOT_SUPPORTED;
}

static sai_status_t hash_set(struct object *o, sai_attr_id_t id)
{
	struct wanted w;
	sai_attr_id_t bad;

	(void)id;
	if (!read_lists(o, &w, &bad))
		return SAI_STATUS_ATTR_NOT_SUPPORTED_0;
	hash_change();
	return SAI_STATUS_SUCCESS;
}

/* The default object's fields, until they are set. */
static sai_status_t kernel_fields(sai_s32_list_t *list)
{
	int32_t native[FIELDS];
	long bits = multipath_kernel_fields();
	uint32_t n = 0;

	if (bits < 0)
		return SAI_STATUS_FAILURE;
	for (size_t i = 0; i < FIELDS; i++)
		if (bits & fields[i].bit)
			native[n++] = fields[i].native;
	return value_fill(list, native, n, sizeof(native[0]));
}

static sai_status_t hash_get(struct object *o, sai_attribute_t *attr)
{
	if (o->id != hash_default() || attr->id != SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST || object_value(o, attr->id))
		return SAI_STATUS_ITEM_NOT_FOUND;
	return kernel_fields(&attr->value.s32list);
}

static sai_status_t hash_remove(struct object *o)
{
	return o->id == hash_default() ? SAI_STATUS_OBJECT_IN_USE : SAI_STATUS_SUCCESS;
}

const struct type hash_type = {
	.type = SAI_OBJECT_TYPE_HASH,
	.name = "hash",
	.attributes = hash_attributes,
	.count = sizeof(hash_attributes) / sizeof(hash_attributes[0]),
	.create = hash_create,
	.set = hash_set,
	.get = hash_get,
	.remove = hash_remove,
};

sai_object_id_t hash_default(void)
{
	return object_id(SAI_OBJECT_TYPE_HASH, DEFAULT_NUMBER);
}

sai_status_t hash_make_default(void)
{
	return object_build(&hash_type, hash_default(), 0, NULL);
}

/*
 * The object that a switch attribute names; without one the default, unless its list is empty,
 * or equal to the kernel's: then the sysctls stay as they are.
 */
static const struct object *chosen(sai_attr_id_t id, bool or_default)
{
	const sai_attribute_value_t *v = object_value(object_switch(), id);
	const struct object *o = v ? object_find(v->oid) : NULL;
	struct wanted w;
	sai_attr_id_t bad;

	if (o || !or_default)
		return o;
	o = object_find(hash_default());
	if (!o || !read_lists(o, &w, &bad) || !(w.fields | w.bth))
		return NULL;
	return (long)w.fields == multipath_kernel_fields() && !w.bth ? NULL : o;
}

static struct softsai_steer steer_by(const struct wanted *w, bool v6)
{
	struct softsai_steer s = { .bth = w->bth };

	if (v6 && (w->fields & FIELD_LABEL))
		s.label = htonl(0xfffff);
	if (w->fields & FIELD_SRC_PORT)
		s.sport = 0xffff;
	return s;
}

static sai_status_t apply_family(int family, sai_attr_id_t plain, sai_attr_id_t rdma)
{
	const struct object *o = chosen(plain, true), *special = chosen(rdma, false);
	struct wanted w = {}, by = {};
	sai_attr_id_t bad;

	if ((o && !read_lists(o, &w, &bad)) || (special && !read_lists(special, &by, &bad)))
		return SAI_STATUS_NOT_SUPPORTED;
	if (special && !by.bth) {
		fail("hash: a hash of RDMA packets alone must have RDMA_BTH_DEST_QP or a UDF: the kernel hashes the other fields for all packets");
		return SAI_STATUS_NOT_SUPPORTED;
	}
	if (family == 0 && ((w.bth && !(w.fields & FIELD_SRC_PORT)) || (by.bth && !(by.fields & FIELD_SRC_PORT)))) {
		fail("hash: for IPv4 a queue pair or UDF needs L4_SRC_PORT in the list");
		return SAI_STATUS_NOT_SUPPORTED;
	}
	steering[family] = steer_by(special ? &by : &w, family == 1);
	return multipath_set(family, family == 0 ? w.fields & ~FIELD_LABEL : w.fields);
}

bool hash_managed(void)
{
	return multipath_managed() || steering[0].bth || steering[1].bth;
}

sai_status_t hash_reset(void)
{
	memset(steering, 0, sizeof(steering));
	return multipath_reset();
}

void hash_change(void)
{
	changed = true;
}

sai_status_t hash_commit(bool *ports)
{
	sai_status_t status;

	if (!changed)
		return SAI_STATUS_SUCCESS;
	changed = false;
	*ports = true;
	status = apply_family(0, SAI_SWITCH_ATTR_ECMP_HASH_IPV4, SAI_SWITCH_ATTR_ECMP_HASH_IPV4_RDMA);
	if (!status)
		status = apply_family(1, SAI_SWITCH_ATTR_ECMP_HASH_IPV6, SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA);
	return status;
}
