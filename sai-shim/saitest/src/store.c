/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define TYPES 64

struct object {
	bool there;
	uint32_t references; /* of other objects to it */
	uint32_t count;
	sai_attribute_t *attributes;
};

/* Objects of one type; number n is at n - 1, and no number is given twice. */
static struct {
	struct object *at;
	uint32_t count;
} objects[TYPES];

static void (*note)(enum change change, sai_object_id_t id, const sai_attribute_t *a);

void store_tell(void (*to)(enum change change, sai_object_id_t id, const sai_attribute_t *a))
{
	note = to;
}

static void noted(enum change change, sai_object_id_t id, const sai_attribute_t *a)
{
	if (note)
		note(change, id, a);
}

static struct object *find(sai_object_id_t id)
{
	sai_object_type_t type = type_of(id);
	uint32_t n = number_of(id);

	if (type >= TYPES || n == 0 || n > objects[type].count || !objects[type].at[n - 1].there)
		return NULL;
	return &objects[type].at[n - 1];
}

static void refer(const struct attribute *known, const sai_attribute_value_t *value, int by)
{
	const sai_object_id_t *ids = NULL;
	uint32_t n = references(known, value, &ids);

	for (uint32_t i = 0; i < n; i++) {
		struct object *o = find(ids[i]);

		if (o)
			o->references += by;
	}
}

static void forget(sai_object_id_t id, sai_attribute_t *a)
{
	const struct attribute *known = attribute_of(type_of(id), a->id);

	refer(known, &a->value, -1);
	free_value(known, &a->value);
}

sai_object_id_t store_add(sai_object_type_t type)
{
	uint32_t n = objects[type].count;
	sai_object_id_t id = (uint64_t)type << 48 | (n + 1);

	if ((n & (n - 1)) == 0) { /* full: n is 0 or a power of 2 */
		objects[type].at = realloc(objects[type].at, (n ? 2 * n : 1) * sizeof(struct object));
		if (!objects[type].at)
			abort();
	}
	objects[type].at[n] = (struct object){ .there = true };
	objects[type].count++;
	noted(ADDED, id, NULL);
	return id;
}

bool store_has(sai_object_id_t id)
{
	return find(id);
}

bool store_used(sai_object_id_t id)
{
	return find(id)->references > 0;
}

void store_remove(sai_object_id_t id)
{
	struct object *o = find(id);

	for (uint32_t i = 0; i < o->count; i++)
		forget(id, &o->attributes[i]);
	free(o->attributes);
	*o = (struct object){ 0 };
	noted(REMOVED, id, NULL);
}

void store_put(sai_object_id_t id, const sai_attribute_t *a)
{
	const struct attribute *known = attribute_of(type_of(id), a->id);
	struct object *o = find(id);
	sai_attribute_t copy = { .id = a->id, .value = copy_value(known, &a->value) };
	uint32_t i = 0;

	while (i < o->count && o->attributes[i].id != a->id)
		i++;
	if (i < o->count) {
		forget(id, &o->attributes[i]);
	} else {
		o->attributes = realloc(o->attributes, ++o->count * sizeof(*o->attributes));
		if (!o->attributes)
			abort();
	}
	o->attributes[i] = copy;
	refer(known, &copy.value, 1);
	noted(PUT, id, a);
}

const sai_attribute_value_t *store_get(sai_object_id_t id, sai_attr_id_t attribute)
{
	const struct object *o = find(id);

	for (uint32_t i = 0; o && i < o->count; i++)
		if (o->attributes[i].id == attribute)
			return &o->attributes[i].value;
	return NULL;
}

/* The objects of a type of which an attribute is an object. */
static uint32_t with(sai_object_type_t type, sai_attr_id_t attribute, sai_object_id_t value, sai_object_id_t *ids,
		     uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= objects[type].count; i++) {
		sai_object_id_t id = (uint64_t)type << 48 | i;
		const sai_attribute_value_t *of = store_get(id, attribute);

		if (!of || of->oid != value)
			continue;
		if (n < room)
			ids[n] = id;
		n++;
	}
	return n;
}

uint32_t store_entries(sai_object_id_t table, sai_object_id_t *ids, uint32_t room)
{
	return with(SAI_OBJECT_TYPE_ACL_ENTRY, SAI_ACL_ENTRY_ATTR_TABLE_ID, table, ids, room);
}

uint32_t store_members(sai_object_id_t group, sai_object_id_t *ids, uint32_t room)
{
	return with(SAI_OBJECT_TYPE_ACL_TABLE_GROUP_MEMBER, SAI_ACL_TABLE_GROUP_MEMBER_ATTR_ACL_TABLE_GROUP_ID, group,
		    ids, room);
}

void store_close(void)
{
	for (int type = 0; type < TYPES; type++) {
		for (uint32_t i = 0; i < objects[type].count; i++) {
			struct object *o = &objects[type].at[i];

			for (uint32_t k = 0; k < o->count; k++)
				free_value(attribute_of(type, o->attributes[k].id), &o->attributes[k].value);
			free(o->attributes);
		}
		free(objects[type].at);
		objects[type].at = NULL;
		objects[type].count = 0;
	}
}

uint32_t store_objects(sai_object_type_t type, sai_object_key_t *keys, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t i = 1; type < TYPES && i <= objects[type].count; i++) {
		if (!objects[type].at[i - 1].there)
			continue;
		if (n < room)
			keys[n].key.object_id = (uint64_t)type << 48 | i;
		n++;
	}
	return n;
}
