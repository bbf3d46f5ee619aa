// SPDX-License-Identifier: Apache-2.0
#include "restore.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "meta.h"
#include "object.h"
#include "record.h"

/* A record of an unknown type is of a later version: it stays. */
static int read_object(uint64_t id, const void *record, size_t size)
{
	const struct type *type = type_find(object_type(id));
	struct object *o = type ? object_find(id) : NULL;

	if (!type || (!o && type->built_in))
		return 0; /* unknown, or its netdev is gone */
	if (!o)
		o = object_adopt(type, id);
	if (!o || !object_reserve(o, record_octets(type, record, size)))
		return -ENOMEM;
	return record_read(type, record, size, o, object_put);
}

static void program(struct object *o, void *arg)
{
	sai_status_t *status = arg, one = o->type->create ? o->type->create(o, true) : SAI_STATUS_SUCCESS;

	if (!one)
		return;
	fail("%s 0x%llx of the earlier process: status %d", o->type->name, (unsigned long long)o->id, one);
	*status = one;
}

sai_status_t restore_objects(void)
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	const struct type *type;
	int err = meta_each(read_object);

	if (err) {
		fail("cannot read the records of the earlier process: %s", strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	/* Records come in any order: references are counted when all objects are there. */
	object_count_references();
	for (size_t i = 0; (type = type_at(i)); i++)
		if (!type->built_in)
			object_each(type->type, program, &status);
	return status;
}
