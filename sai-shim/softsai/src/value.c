// SPDX-License-Identifier: Apache-2.0
#include "value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS 256

/* One part of a value: plain octets, or a list of elements. */
struct part {
	void *at;
	size_t size; /* of the octets, or of an element */
	bool list;
};

static int parts(const struct attribute *a, sai_attribute_value_t *v, struct part p[3])
{
	bool list = a->form == LIST || a->form == FIELD_LIST || a->form == ACTION_LIST;

	switch (a->form) {
	case FIELD:
	case FIELD_LIST:
		p[0] = (struct part){ &v->aclfield.enable, sizeof(v->aclfield.enable), false };
		p[1] = (struct part){ &v->aclfield.mask, a->size, list };
		p[2] = (struct part){ &v->aclfield.data, a->size, list };
		return 3;
	case ACTION:
	case ACTION_LIST:
		p[0] = (struct part){ &v->aclaction.enable, sizeof(v->aclaction.enable), false };
		p[1] = (struct part){ &v->aclaction.parameter, a->size, list };
		return 2;
	default:
		p[0] = (struct part){ v, a->size, list };
		return 1;
	}
}

/* A field or action that is not enabled has no other value that counts. */
static int used_parts(const struct attribute *a, sai_attribute_value_t *v, struct part p[3])
{
	int n = parts(a, v, p);

	return n > 1 && !*(bool *)p[0].at ? 1 : n;
}

/* All lists of SAI are {uint32_t count, T *list}. */
static sai_object_list_t *list_of(const struct part *p)
{
	return p->at;
}

size_t value_octets(const struct attribute *a)
{
	switch (a->form) {
	case LIST:
		return sizeof(sai_object_list_t);
	case FIELD:
		return offsetof(sai_attribute_value_t, aclfield.data) + a->size;
	case FIELD_LIST:
		return offsetof(sai_attribute_value_t, aclfield.data) + sizeof(sai_object_list_t);
	case ACTION:
		return offsetof(sai_attribute_value_t, aclaction.parameter) + a->size;
	case ACTION_LIST:
		return offsetof(sai_attribute_value_t, aclaction.parameter) + sizeof(sai_object_list_t);
	default:
		return a->size;
	}
}

uint32_t stored_octets(const struct attribute *a)
{
	const uint32_t unit = sizeof(uint64_t);

	return sizeof(struct stored) + (value_octets(a) + unit - 1) / unit * unit;
}

bool value_valid(const struct attribute *a, const sai_attribute_value_t *v)
{
	struct part p[3];
	int n = used_parts(a, (sai_attribute_value_t *)v, p);

	for (int i = 0; i < n; i++)
		if (p[i].list && list_of(&p[i])->count &&
		    (!list_of(&p[i])->list || list_of(&p[i])->count > MAX_ELEMENTS))
			return false;
	return true;
}

int value_copy(const struct attribute *a, sai_attribute_value_t *to, const sai_attribute_value_t *from)
{
	struct part p[3], q[3];
	int n = used_parts(a, (sai_attribute_value_t *)from, p);

	memset(to, 0, sizeof(*to));
	parts(a, to, q);
	for (int i = 0; i < n; i++) {
		if (!p[i].list) {
			memcpy(q[i].at, p[i].at, p[i].size);
			continue;
		}
		if (!list_of(&p[i])->count)
			continue;
		list_of(&q[i])->list = malloc(list_of(&p[i])->count * p[i].size);
		if (!list_of(&q[i])->list) {
			value_free(a, to);
			return -ENOMEM;
		}
		list_of(&q[i])->count = list_of(&p[i])->count;
		memcpy(list_of(&q[i])->list, list_of(&p[i])->list, list_of(&p[i])->count * p[i].size);
	}
	return 0;
}

void value_free(const struct attribute *a, sai_attribute_value_t *v)
{
	struct part p[3];
	int n = parts(a, v, p);

	for (int i = 0; i < n; i++)
		if (p[i].list)
			free(list_of(&p[i])->list);
	memset(v, 0, value_octets(a));
}

sai_status_t value_fill(void *list, const void *elements, uint32_t count, size_t size)
{
	sai_object_list_t *to = list; /* all lists begin alike */

	if (to->count < count || (count && !to->list)) {
		to->count = count;
		return SAI_STATUS_BUFFER_OVERFLOW;
	}
	to->count = count;
	if (count)
		memcpy(to->list, elements, count * size);
	return SAI_STATUS_SUCCESS;
}

sai_status_t value_give(const struct attribute *a, sai_attribute_value_t *to, const sai_attribute_value_t *v)
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	sai_attribute_value_t nothing = {};
	struct part p[3], q[3];
	int n;

	if (!v)
		v = &nothing;
	n = parts(a, (sai_attribute_value_t *)v, p);
	parts(a, to, q);
	for (int i = 0; i < n; i++) {
		if (!p[i].list)
			memcpy(q[i].at, p[i].at, p[i].size);
		else if (value_fill(q[i].at, list_of(&p[i])->list, list_of(&p[i])->count, p[i].size))
			status = SAI_STATUS_BUFFER_OVERFLOW;
	}
	return status;
}

/* An attribute's octets begin with its id and their number. */
#define HEAD (2 * sizeof(uint32_t))

size_t value_encode(const struct attribute *a, const sai_attribute_t *attr, uint8_t *to, size_t room)
{
	struct part p[3];
	int n = used_parts(a, (sai_attribute_value_t *)&attr->value, p);
	uint32_t id = attr->id, at = HEAD, count;
	const void *from;
	size_t size;

	if (room < HEAD)
		return 0;
	for (int i = 0; i < n; i++) {
		from = p[i].at;
		size = p[i].size;
		if (p[i].list) {
			count = list_of(&p[i])->count;
			if (room - at < sizeof(count))
				return 0;
			memcpy(to + at, &count, sizeof(count));
			at += sizeof(count);
			from = list_of(&p[i])->list;
			size *= count;
		}
		if (room - at < size)
			return 0;
		if (size)
			memcpy(to + at, from, size);
		at += size;
	}
	memcpy(to, &id, sizeof(id));
	memcpy(to + sizeof(id), &at, sizeof(at));
	return at;
}

/* One part at *at; reports whether it is whole. */
static bool decode_part(struct part *p, const uint8_t **at, size_t *left)
{
	size_t size = p->size;
	uint32_t count;

	if (p->list) {
		if (*left < sizeof(count))
			return false;
		memcpy(&count, *at, sizeof(count));
		*at += sizeof(count);
		*left -= sizeof(count);
		size *= count;
		if (count > MAX_ELEMENTS || *left < size)
			return false;
		if (!count)
			return true;
		list_of(p)->list = malloc(size);
		if (!list_of(p)->list)
			return false;
		list_of(p)->count = count;
		memcpy(list_of(p)->list, *at, size);
	} else {
		if (*left < size)
			return false;
		memcpy(p->at, *at, size);
	}
	*at += size;
	*left -= size;
	return true;
}

size_t value_size(const uint8_t *from, size_t size)
{
	uint32_t length;

	if (size < HEAD)
		return 0;
	memcpy(&length, from + sizeof(uint32_t), sizeof(length));
	return length < HEAD || length > size ? 0 : length;
}

size_t value_decode(const struct type *type, const uint8_t *from, size_t size, sai_attribute_t *attr,
		    const struct attribute **a)
{
	size_t length = value_size(from, size);
	const uint8_t *at = from + HEAD;
	uint32_t id;
	struct part p[3];
	size_t left;
	int n;

	memset(attr, 0, sizeof(*attr));
	if (!length)
		return 0;
	memcpy(&id, from, sizeof(id));
	*a = type_attribute(type, id);
	if (!*a)
		return length;
	attr->id = id;
	left = length - HEAD;
	n = parts(*a, &attr->value, p);
	for (int i = 0; i < n && left > 0; i++) {
		if (!decode_part(&p[i], &at, &left)) {
			value_free(*a, &attr->value);
			return 0;
		}
	}
	return length;
}
