// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "meta.h"
#include "value.h"

sai_status_t record_write(const struct type *type, sai_object_id_t id, const struct object *o, record_next_fn next)
{
	const char *name = type->name;
	uint8_t record[META_MAX];
	sai_attribute_t attr;
	uint32_t at = 0;
	size_t n = 0;
	int err;

	while (next(o, &at, &attr)) {
		const struct attribute *a = type_attribute(type, attr.id);
		size_t size;

		if (!a || (a->access & VOLATILE))
			continue;
		size = value_encode(a, &attr, record + n, sizeof(record) - n);
		if (!size) {
			fail("%s: its attributes take more than %d octets", name, META_MAX);
			return SAI_STATUS_INSUFFICIENT_RESOURCES;
		}
		n += size;
	}
	err = meta_put(id, record, n);
	if (err) {
		fail("%s: cannot write its record: %s", name, strerror(-err));
		return err == -E2BIG || err == -ENOSPC ? SAI_STATUS_TABLE_FULL : SAI_STATUS_FAILURE;
	}
	return SAI_STATUS_SUCCESS;
}

uint32_t record_octets(const struct type *type, const void *record, size_t size)
{
	uint32_t octets = 0, id;

	for (size_t n, at = 0; (n = value_size((const uint8_t *)record + at, size - at)); at += n) {
		const struct attribute *a;

		memcpy(&id, (const uint8_t *)record + at, sizeof(id));
		a = type_attribute(type, id);
		octets += a ? stored_octets(a) : 0;
	}
	return octets;
}

int record_read(const struct type *type, const void *record, size_t size, struct object *o, record_put_fn put)
{
	const uint8_t *at = record;

	while (size > 0) {
		const struct attribute *a;
		sai_attribute_t attr;
		size_t n = value_decode(type, at, size, &attr, &a);

		if (!n)
			return -EBADMSG;
		if (a && put(o, a, &attr))
			return -ENOMEM;
		at += n;
		size -= n;
	}
	return 0;
}
