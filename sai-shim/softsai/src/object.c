// SPDX-License-Identifier: Apache-2.0
#include "object.h"

#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "store.h"
#include "value.h"

#define BUCKETS (1 << 16)
#define TYPE_SHIFT 48

static struct object *buckets[BUCKETS];
size_t objects_made;

const struct type *const types[] = {
	&switch_type, &port_type,      &queue_type,	&acl_counter_type, &udf_match_type, &udf_group_type,
	&udf_type,    &scheduler_type, &policer_type,	&trap_group_type,  &trap_type,	    &samplepacket_type,
	&mirror_type, &hash_type,      &acl_table_type, &acl_entry_type,
};
const size_t type_count = sizeof(types) / sizeof(types[0]);

sai_object_id_t object_id(sai_object_type_t type, uint64_t number)
{
	return (sai_object_id_t)type << TYPE_SHIFT | number;
}

sai_object_type_t object_type(sai_object_id_t id)
{
	return id >> TYPE_SHIFT;
}

uint64_t object_number(sai_object_id_t id)
{
	return id & ((1ULL << TYPE_SHIFT) - 1);
}

static struct object **bucket(sai_object_id_t id)
{
	return &buckets[(object_number(id) + object_type(id) * 251) % BUCKETS];
}

struct object *object_find(sai_object_id_t id)
{
	struct object *o = *bucket(id);

	while (o && o->id != id)
		o = o->next;
	return o;
}

void object_each(sai_object_type_t type, void (*call)(struct object *o, void *arg), void *arg)
{
	struct object *o, *next;

	for (size_t i = 0; i < BUCKETS; i++) {
		for (o = buckets[i]; o; o = next) {
			next = o->next;
			if (!type || o->type->type == type)
				call(o, arg);
		}
	}
}

const struct type *type_find(sai_object_type_t type)
{
	for (size_t i = 0; i < type_count; i++)
		if (types[i]->type == type && !hidden(types[i]->capability))
			return types[i];
	return NULL;
}

const struct attribute *type_attribute(const struct type *type, sai_attr_id_t id)
{
	for (size_t i = 0; i < type->count; i++)
		if (type->attributes[i].id == id)
			return hidden(type->attributes[i].capability) ? NULL : &type->attributes[i];
	return NULL;
}

const sai_attribute_value_t *object_value(const struct object *o, sai_attr_id_t id)
{
	for (uint32_t i = 0; i < o->count; i++)
		if (o->attributes[i].id == id)
			return &o->attributes[i].value;
	return NULL;
}

/* The ids that a value refers to. */
static uint32_t references(const struct attribute *a, const sai_attribute_value_t *v, const sai_object_id_t **ids)
{
	*ids = NULL;
	if (!(a->access & REFERENCE))
		return 0;
	switch (a->form) {
	case PLAIN:
		*ids = &v->oid;
		return 1;
	case ACTION:
		*ids = &v->aclaction.parameter.oid;
		return v->aclaction.enable;
	case ACTION_LIST:
		*ids = v->aclaction.parameter.objlist.list;
		return v->aclaction.enable ? v->aclaction.parameter.objlist.count : 0;
	case LIST:
		*ids = v->objlist.list;
		return v->objlist.count;
	}
	return 0;
}

static bool all_there(const struct attribute *a, const sai_attribute_value_t *v)
{
	const sai_object_id_t *ids;
	uint32_t n = references(a, v, &ids);

	for (uint32_t i = 0; i < n; i++)
		if (ids[i] != SAI_NULL_OBJECT_ID && !object_find(ids[i]))
			return false;
	return true;
}

void object_refer(const struct attribute *a, const sai_attribute_value_t *v, int by)
{
	const sai_object_id_t *ids;
	uint32_t n = references(a, v, &ids);
	struct object *o;

	for (uint32_t i = 0; i < n; i++) {
		o = object_find(ids[i]);
		if (o)
			o->references += by;
	}
}

/* Puts an attribute in place of the one that o has; the value becomes o's. */
sai_status_t object_put(struct object *o, const struct attribute *a, sai_attribute_t *attr)
{
	sai_attribute_t *all;

	object_refer(a, &attr->value, 1);
	for (uint32_t i = 0; i < o->count; i++) {
		if (o->attributes[i].id == attr->id) {
			object_refer(a, &o->attributes[i].value, -1);
			value_free(a, &o->attributes[i].value);
			o->attributes[i] = *attr;
			return SAI_STATUS_SUCCESS;
		}
	}
	all = realloc(o->attributes, (o->count + 1) * sizeof(*all));
	if (!all)
		return SAI_STATUS_NO_MEMORY;
	o->attributes = all;
	all[o->count++] = *attr;
	return SAI_STATUS_SUCCESS;
}

sai_status_t object_store(struct object *o, const sai_attribute_t *attr)
{
	const struct attribute *a = type_attribute(o->type, attr->id);
	sai_attribute_t own = { .id = attr->id };

	if (!a)
		return SAI_STATUS_NOT_SUPPORTED;
	if (value_copy(a, &own.value, &attr->value))
		return SAI_STATUS_NO_MEMORY;
	return object_put(o, a, &own);
}

static void unlink_object(struct object *o)
{
	struct object **at = bucket(o->id);

	while (*at && *at != o)
		at = &(*at)->next;
	if (*at)
		*at = o->next;
	for (uint32_t i = 0; i < o->count; i++) {
		const struct attribute *a = type_attribute(o->type, o->attributes[i].id);

		if (!a)
			continue;
		object_refer(a, &o->attributes[i].value, -1);
		value_free(a, &o->attributes[i].value);
	}
	free(o->attributes);
	free(o->state);
	free(o);
}

struct object *object_link(const struct type *type, sai_object_id_t id)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->state = calloc(1, type->room + 1);
	if (!o->state) {
		free(o);
		return NULL;
	}
	o->id = id;
	o->type = type;
	o->next = *bucket(id);
	*bucket(id) = o;
	return o;
}

/* Says which attribute of the list cannot be, and why. */
static sai_status_t check(const struct type *type, uint32_t count, const sai_attribute_t *list)
{
	const struct attribute *a;
	uint32_t i;

	for (i = 0; i < count; i++) {
		a = type_attribute(type, list[i].id);
		if (!a)
			return attribute_status(SAI_STATUS_ATTR_NOT_SUPPORTED_0, i);
		if (!(a->access & CREATE))
			return attribute_status(SAI_STATUS_INVALID_ATTRIBUTE_0, i);
		if (!value_valid(a, &list[i].value) || !all_there(a, &list[i].value))
			return attribute_status(SAI_STATUS_INVALID_ATTR_VALUE_0, i);
	}
	for (size_t k = 0; k < type->count; k++) {
		if (!(type->attributes[k].access & MUST))
			continue;
		for (i = 0; i < count && list[i].id != type->attributes[k].id; i++)
			;
		if (i == count)
			return SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING;
	}
	return SAI_STATUS_SUCCESS;
}

sai_status_t object_create(const struct type *type, sai_object_id_t id, uint32_t count, const sai_attribute_t *list,
			   sai_object_id_t *id_made)
{
	struct object *o;
	sai_status_t status;
	bool ours = id != SAI_NULL_OBJECT_ID; /* ports and the like: not the caller's */
	uint64_t number;

	if (hidden(type->capability))
		return SAI_STATUS_NOT_SUPPORTED;
	status = check(type, count, list);
	if (status)
		return status;
	if (!ours) {
		if (meta_next(&number))
			return SAI_STATUS_FAILURE;
		id = object_id(type->type, number);
	}
	o = object_link(type, id);
	if (!o)
		return SAI_STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < count && !status; i++)
		status = object_store(o, &list[i]);
	/* The record first: what the switch has, the next process must know of. */
	if (!status && !ours)
		status = object_save(o);
	if (!status && type->create)
		status = type->create(o, false);
	if (status) {
		if (!ours)
			meta_remove(id);
		unlink_object(o);
		return status;
	}
	objects_made += !ours;
	*id_made = id;
	return SAI_STATUS_SUCCESS;
}

sai_status_t object_set(const struct type *type, sai_object_id_t id, const sai_attribute_t *attr)
{
	struct object *o = object_find(id);
	const sai_attribute_value_t *before;
	const struct attribute *a;
	sai_attribute_t old = { .id = attr->id };
	sai_status_t status;

	if (!o || o->type != type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	a = type_attribute(type, attr->id);
	if (!a)
		return SAI_STATUS_ATTR_NOT_SUPPORTED_0;
	if (!(a->access & SET))
		return SAI_STATUS_INVALID_ATTRIBUTE_0;
	if (!value_valid(a, &attr->value) || !all_there(a, &attr->value))
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	before = object_value(o, attr->id);
	if (before && value_copy(a, &old.value, before))
		return SAI_STATUS_NO_MEMORY;
	status = object_store(o, attr);
	if (!status && type->set)
		status = type->set(o, attr->id);
	if (!status && !(a->access & VOLATILE))
		status = object_save(o);
	if (status) /* a value that was not there comes back as zero, which is the default */
		object_put(o, a, &old);
	else if (before)
		value_free(a, &old.value);
	return status;
}

sai_status_t object_get(const struct type *type, sai_object_id_t id, uint32_t count, sai_attribute_t *list)
{
	struct object *o = object_find(id);
	const sai_attribute_value_t *v;
	const struct attribute *a;
	sai_status_t status = SAI_STATUS_SUCCESS, one;

	if (!o || o->type != type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	for (uint32_t i = 0; i < count; i++) {
		a = type_attribute(type, list[i].id);
		if (!a)
			return attribute_status(SAI_STATUS_ATTR_NOT_SUPPORTED_0, i);
		one = type->get ? type->get(o, &list[i]) : SAI_STATUS_ITEM_NOT_FOUND;
		if (one == SAI_STATUS_ITEM_NOT_FOUND) {
			v = object_value(o, list[i].id);
			one = value_give(a, &list[i].value, v);
		}
		if (one == SAI_STATUS_BUFFER_OVERFLOW)
			status = one; /* the rest is filled, so that all counts are known at once */
		else if (one)
			return one;
	}
	return status;
}

sai_status_t object_remove(const struct type *type, sai_object_id_t id)
{
	struct object *o = object_find(id);
	sai_status_t status = SAI_STATUS_SUCCESS;

	if (!o || o->type != type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (o->references)
		return SAI_STATUS_OBJECT_IN_USE;
	if (type->remove)
		status = type->remove(o);
	if (status)
		return status;
	meta_remove(id);
	unlink_object(o);
	objects_made--;
	return SAI_STATUS_SUCCESS;
}

static void forget(struct object *o, void *arg)
{
	(void)arg;
	unlink_object(o);
}

void object_forget(void)
{
	object_each(0, forget, NULL);
	objects_made = 0;
}

size_t object_made(void)
{
	return objects_made;
}

sai_status_t object_fill(void *list, const void *elements, uint32_t count, size_t size)
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
