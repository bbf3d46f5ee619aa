/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define TYPES 64

struct object {
	bool there;
	uint32_t references; /* of others to it */
	uint32_t count;
	sai_attribute_t *attributes;
};

/* Objects of one type; number n stands at n - 1, and no number is given twice. */
static struct {
	struct object *at;
	uint32_t count;
} objects[TYPES];

/* A change in the file; behind it stand the elements of the value's list. */
struct change {
	enum { ADD, REMOVE, PUT } what;
	uint32_t octets;
	sai_object_id_t id;
	sai_attribute_t attribute;
};

static FILE *journal;

static void note(int what, sai_object_id_t id, const sai_attribute_t *a)
{
	struct change c = { .what = what, .id = id };
	sai_u8_list_t *list = NULL;

	if (!journal)
		return;
	if (a) {
		c.attribute = *a;
		c.octets = list_in(attribute_of(type_of(id), a->id), &c.attribute.value, &list) * list->count;
	}
	fwrite(&c, sizeof(c), 1, journal);
	if (c.octets)
		fwrite(list->list, c.octets, 1, journal);
	fflush(journal);
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
	note(ADD, id, NULL);
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
	note(REMOVE, id, NULL);
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
	note(PUT, id, a);
}

const sai_attribute_value_t *store_get(sai_object_id_t id, sai_attr_id_t attribute)
{
	const struct object *o = find(id);

	for (uint32_t i = 0; o && i < o->count; i++)
		if (o->attributes[i].id == attribute)
			return &o->attributes[i].value;
	return NULL;
}

uint32_t store_entries(sai_object_id_t table, sai_object_id_t *ids, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= objects[SAI_OBJECT_TYPE_ACL_ENTRY].count; i++) {
		sai_object_id_t id = (uint64_t)SAI_OBJECT_TYPE_ACL_ENTRY << 48 | i;
		const sai_attribute_value_t *of = store_get(id, SAI_ACL_ENTRY_ATTR_TABLE_ID);

		if (!of || of->oid != table)
			continue;
		if (n < room)
			ids[n] = id;
		n++;
	}
	return n;
}

static int replay(FILE *file)
{
	struct change c;

	while (fread(&c, sizeof(c), 1, file) == 1) {
		sai_u8_list_t *list;
		void *elements = NULL;

		if (c.octets) {
			elements = malloc(c.octets);
			if (!elements || fread(elements, c.octets, 1, file) != 1)
				abort();
			list_in(attribute_of(type_of(c.id), c.attribute.id), &c.attribute.value, &list);
			list->list = elements;
		}
		if (c.what == ADD && store_add(type_of(c.id)) != c.id)
			return -1;
		if (c.what == REMOVE)
			store_remove(c.id);
		if (c.what == PUT)
			store_put(c.id, &c.attribute);
		free(elements);
	}
	return 0;
}

int store_open(const char *file)
{
	FILE *old = file ? fopen(file, "r") : NULL;
	int rc = old ? replay(old) : 0;

	if (old)
		fclose(old);
	if (file && !rc)
		journal = fopen(file, "a");
	return rc || (file && !journal) ? -1 : 0;
}

void store_close(void)
{
	if (journal)
		fclose(journal);
	journal = NULL;
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
