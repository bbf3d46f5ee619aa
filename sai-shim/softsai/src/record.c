// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "meta.h"
#include "value.h"

sai_status_t record_write(const struct type *type, sai_object_id_t id, uint32_t count, const sai_attribute_t *list)
{
	uint8_t record[META_MAX];
	size_t n = 0;
	int err;

	for (uint32_t i = 0; i < count; i++) {
		const struct attribute *a = type_attribute(type, list[i].id);
		size_t size;

		if (!a || (a->access & VOLATILE))
			continue;
		size = value_encode(a, &list[i], record + n, sizeof(record) - n);
		if (!size) {
			fail("%s: its attributes take more than %d octets", type->name, META_MAX);
			return SAI_STATUS_INSUFFICIENT_RESOURCES;
		}
		n += size;
	}
	err = meta_put(id, record, n);
	if (err) {
		fail("%s: cannot write its record: %s", type->name, strerror(-err));
		return err == -E2BIG || err == -ENOSPC ? SAI_STATUS_TABLE_FULL : SAI_STATUS_FAILURE;
	}
	return SAI_STATUS_SUCCESS;
}

uint32_t record_count(const void *record, size_t size)
{
	uint32_t count = 0;

	for (size_t n, at = 0; (n = value_size((const uint8_t *)record + at, size - at)); at += n)
		count++;
	return count;
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
