// SPDX-License-Identifier: Apache-2.0
#include "object.h"

#include <stdlib.h>
#include <string.h>

#include "hide.h"
#include "meta.h"
#include "record.h"
#include "value.h"

#define BUCKETS (1 << 16)
#define TYPE_SHIFT 48
#define TYPES 256 /* numbers of types are below */

static struct object *buckets[BUCKETS];
static struct {
	struct object *first, **end;
	uint32_t count;
} lists[TYPES];	    /* of the objects, by type */
static size_t made; /* by the caller */
static sai_status_t (*committer)(void);

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

struct object *object_find_of(sai_object_id_t id, sai_object_type_t type)
{
	return object_type(id) == type ? object_find(id) : NULL;
}

struct object *object_switch(void)
{
	return lists[SAI_OBJECT_TYPE_SWITCH].first;
}

void object_each(sai_object_type_t type, void (*call)(struct object *o, void *arg), void *arg)
{
	struct object *o, *following;

	for (o = type < TYPES ? lists[type].first : NULL; o; o = following) {
		following = o->following;
		call(o, arg);
	}
}

struct object *object_after(sai_object_type_t type, sai_object_id_t id)
{
	struct object *o = object_find_of(id, type);

	if (o)
		return o->following;
	for (o = type < TYPES ? lists[type].first : NULL; o && o->id <= id; o = o->following)
		;
	return o;
}

uint32_t object_count(sai_object_type_t type)
{
	return type < TYPES ? lists[type].count : 0;
}

/* The attribute after s, or with s NULL the first; NULL after the last. */
static struct stored *after(const struct object *o, struct stored *s)
{
	char *at = s ? (char *)s + s->size : (char *)o->attributes;

	return at < (char *)o->attributes + o->size ? (struct stored *)at : NULL;
}

static struct stored *find_stored(const struct object *o, sai_attr_id_t id)
{
	struct stored *s = NULL;

	do
		s = after(o, s);
	while (s && s->id != id);
	return s;
}

static sai_attribute_value_t *value_of(struct stored *s)
{
	return (sai_attribute_value_t *)s->value;
}

const sai_attribute_value_t *object_value(const struct object *o, sai_attr_id_t id)
{
	struct stored *s = find_stored(o, id);

	return s ? value_of(s) : NULL;
}

bool object_next(const struct object *o, uint32_t *at, sai_attribute_t *attr)
{
	const struct stored *s;

	if (*at >= o->size)
		return false;
	s = (const struct stored *)((const char *)o->attributes + *at);
	*attr = (sai_attribute_t){ .id = s->id };
	memcpy(&attr->value, s->value, s->size - sizeof(*s));
	*at += s->size;
	return true;
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

static void refer(const struct attribute *a, const sai_attribute_value_t *v, int by)
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

bool object_reserve(struct object *o, uint32_t octets)
{
	struct stored *all;

	if (o->room - o->size >= octets)
		return true;
	all = realloc(o->attributes, o->size + octets);
	if (!all)
		return false;
	o->attributes = all;
	o->room = o->size + octets;
	return true;
}

sai_status_t object_put(struct object *o, const struct attribute *a, sai_attribute_t *attr)
{
	struct stored *s = find_stored(o, attr->id);
	uint32_t octets = stored_octets(a);

	refer(a, &attr->value, 1);
	if (s) {
		refer(a, value_of(s), -1);
		value_free(a, value_of(s));
	} else {
		if (!object_reserve(o, octets))
			return SAI_STATUS_NO_MEMORY;
		s = (struct stored *)((char *)o->attributes + o->size);
		*s = (struct stored){ attr->id, octets };
		o->size += octets;
	}
	memcpy(s->value, &attr->value, octets - sizeof(*s));
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

static struct object *link_object(const struct type *type, sai_object_id_t id)
{
	struct object *o = calloc(1, sizeof(*o) + type->room);
	typeof(&lists[0]) list = &lists[type->type];

	if (!o)
		return NULL;
	o->state = o + 1;
	o->id = id;
	o->type = type;
	o->next = *bucket(id);
	*bucket(id) = o;
	o->previous = list->first ? list->end : &list->first;
	*o->previous = o;
	list->end = &o->following;
	list->count++;
	return o;
}

static void unlink_object(struct object *o)
{
	typeof(&lists[0]) list = &lists[o->type->type];
	struct object **at = bucket(o->id);

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	*o->previous = o->following;
	if (o->following)
		o->following->previous = o->previous;
	else
		list->end = o->previous;
	list->count--;
	for (struct stored *s = NULL; (s = after(o, s));) {
		const struct attribute *a = type_attribute(o->type, s->id);

		if (!a)
			continue;
		refer(a, value_of(s), -1);
		value_free(a, value_of(s));
	}
	free(o->attributes);
	free(o);
}

struct object *object_adopt(const struct type *type, sai_object_id_t id)
{
	struct object *o = link_object(type, id);

	made += o != NULL;
	return o;
}

/* Logs the attribute of the list that cannot be, with the reason. */
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

void object_commit_by(sai_status_t (*function)(void))
{
	committer = function;
}

/* Publishes the changes of handlers. */
static sai_status_t publish(void)
{
	return committer ? committer() : SAI_STATUS_SUCCESS;
}

/* Links an object with its attributes; NULL for no memory. */
static struct object *new_object(const struct type *type, sai_object_id_t id, uint32_t count,
				 const sai_attribute_t *list)
{
	const struct attribute number = { 0, PLAIN, sizeof(uint32_t), 0, NULL };
	uint32_t octets = stored_octets(&number); /* most handlers give an object a number */
	struct object *o = link_object(type, id);
	bool good;

	for (uint32_t i = 0; i < count; i++)
		octets += stored_octets(type_attribute(type, list[i].id));
	good = o && object_reserve(o, octets);
	for (uint32_t i = 0; good && i < count; i++)
		good = !object_store(o, &list[i]);
	if (good)
		return o;
	if (o)
		unlink_object(o);
	return NULL;
}

sai_status_t object_create(const struct type *type, uint32_t count, const sai_attribute_t *list, sai_object_id_t *id)
{
	sai_status_t status = hidden(type->capability) ? SAI_STATUS_NOT_SUPPORTED : check(type, count, list);
	struct object *o;
	uint64_t number;

	if (status)
		return status;
	if (meta_next(&number))
		return SAI_STATUS_FAILURE;
	o = new_object(type, object_id(type->type, number), count, list);
	if (!o)
		return SAI_STATUS_NO_MEMORY;
	/* The record first: the next process must know all that the switch has. */
	status = object_save(o);
	if (!status && type->create)
		status = type->create(o, false);
	if (!status) {
		status = publish();
		if (status && type->remove) {
			type->remove(o);
			publish();
		}
	}
	if (status) {
		meta_remove(o->id);
		unlink_object(o);
		return status;
	}
	made++;
	*id = o->id;
	return SAI_STATUS_SUCCESS;
}

sai_status_t object_build(const struct type *type, sai_object_id_t id, uint32_t count, const sai_attribute_t *list)
{
	sai_status_t status = check(type, count, list);
	struct object *o;

	if (status)
		return status;
	o = new_object(type, id, count, list);
	if (!o)
		return SAI_STATUS_NO_MEMORY;
	status = type->create ? type->create(o, false) : SAI_STATUS_SUCCESS;
	if (status)
		unlink_object(o);
	return status;
}

void object_dissolve(sai_object_id_t id)
{
	struct object *o = object_find(id);

	if (!o)
		return;
	meta_remove(id);
	unlink_object(o);
}

sai_status_t object_set(const struct type *type, sai_object_id_t id, const sai_attribute_t *attr)
{
	struct object *o = object_find(id);
	const sai_attribute_value_t *before;
	const struct attribute *a;
	sai_attribute_t old = { .id = attr->id };
	bool changed = false;
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
	if (!status && type->set) {
		status = type->set(o, attr->id);
		changed = !status;
	}
	if (!status)
		status = publish();
	if (!status && !(a->access & VOLATILE))
		status = object_save(o);
	if (!status) {
		if (before)
			value_free(a, &old.value);
		return SAI_STATUS_SUCCESS;
	}
	object_put(o, a, &old); /* a value that was not there comes back as zero, which is the default */
	if (changed) {
		type->set(o, attr->id);
		publish();
	}
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
	made--;
	return publish();
}

sai_status_t object_save(const struct object *o)
{
	return record_write(o->type, o->id, o, object_next);
}

static void forget_references(struct object *o)
{
	o->references = 0;
}

static void count_references(struct object *o)
{
	for (struct stored *s = NULL; (s = after(o, s));)
		refer(type_attribute(o->type, s->id), value_of(s), 1);
}

static void each_of_all(void (*call)(struct object *o))
{
	struct object *o, *following;

	for (size_t type = 0; type < TYPES; type++) {
		for (o = lists[type].first; o; o = following) {
			following = o->following;
			call(o);
		}
	}
}

void object_count_references(void)
{
	each_of_all(forget_references);
	each_of_all(count_references);
}

void object_forget(void)
{
	each_of_all(unlink_object);
	made = 0;
}

size_t object_made(void)
{
	return made;
}
