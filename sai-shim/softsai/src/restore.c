// SPDX-License-Identifier: Apache-2.0
/* Objects in records, for the next process, and out of them. */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "meta.h"
#include "store.h"
#include "value.h"

sai_status_t object_save(const struct object *o)
{
	uint8_t record[META_MAX];
	size_t n = 0;
	int err;

	for (uint32_t i = 0; i < o->count; i++) {
		const struct attribute *a = type_attribute(o->type, o->attributes[i].id);
		size_t size;

		if (!a || (a->access & VOLATILE))
			continue;
		size = value_encode(a, &o->attributes[i], record + n, sizeof(record) - n);
		if (!size) {
			fail("%s: its attributes take more than %d octets", o->type->name, META_MAX);
			return SAI_STATUS_INSUFFICIENT_RESOURCES;
		}
		n += size;
	}
	err = meta_put(o->id, record, n);
	if (err) {
		fail("%s: cannot write its record: %s", o->type->name, strerror(-err));
		return err == -E2BIG || err == -ENOSPC ? SAI_STATUS_TABLE_FULL : SAI_STATUS_FAILURE;
	}
	return SAI_STATUS_SUCCESS;
}

/* A record of an unknown type is of a later version: it stays. */
static int read_record(uint64_t id, const void *record, size_t size)
{
	const struct type *type = type_find(object_type(id));
	const uint8_t *at = record;
	struct object *o;

	if (!type)
		return 0;
	o = object_find(id);
	if (!o && (type == &switch_type || type == &port_type || type == &queue_type))
		return 0; /* its netdev is gone */
	if (!o) {
		o = object_link(type, id);
		objects_made++;
	}
	if (!o)
		return -ENOMEM;
	while (size > 0) {
		sai_attribute_t attr;
		const struct attribute *a;
		size_t n = value_decode(type, at, size, &attr, &a);

		if (!n)
			return -EBADMSG;
		if (a && object_put(o, a, &attr))
			return -ENOMEM;
		at += n;
		size -= n;
	}
	return 0;
}

static void refer_all(struct object *o, void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < o->count; i++)
		object_refer(type_attribute(o->type, o->attributes[i].id), &o->attributes[i].value, 1);
}

static void forget_references(struct object *o, void *arg)
{
	(void)arg;
	o->references = 0;
}

struct restoring {
	sai_status_t status;
};

static void program(struct object *o, void *arg)
{
	struct restoring *r = arg;
	sai_status_t status = o->type->create ? o->type->create(o, true) : SAI_STATUS_SUCCESS;

	if (status) {
		fail("%s 0x%llx of the process before: status %d", o->type->name, (unsigned long long)o->id, status);
		r->status = status;
	}
}

sai_status_t object_restore(void)
{
	struct restoring r = {};
	int err = meta_each(read_record);

	if (err) {
		fail("cannot read the records of the process before: %s", strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	/* Records come in no order: who refers to whom is counted when all are there. */
	object_each(0, forget_references, NULL);
	object_each(0, refer_all, NULL);
	for (size_t i = 0; i < type_count; i++)
		if (types[i] != &switch_type && types[i] != &port_type && types[i] != &queue_type)
			object_each(types[i]->type, program, &r);
	return r.status;
}
