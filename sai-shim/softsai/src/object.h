// SPDX-License-Identifier: Apache-2.0
/*
 * The objects of the switch, with their attributes as the caller gave them. Everything here
 * runs under one lock, which the callers in api.c hold.
 */
#ifndef SOFTSAI_OBJECT_H
#define SOFTSAI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "type.h"

struct object {
	sai_object_id_t id;
	const struct type *type;
	struct object *next;		      /* in the same bucket */
	struct object *following, **previous; /* of the same type, in order of creation */
	uint32_t references;		      /* by attributes of other objects */
	uint32_t size, room;		      /* octets of the attributes */
	struct stored *attributes;	      /* object_value and object_next read them */
	void *state;			      /* of type->room octets, after the object */
};

/* An object id holds its type. Port ids hold the ifindex, others a running number. */
sai_object_id_t object_id(sai_object_type_t type, uint64_t number);
sai_object_type_t object_type(sai_object_id_t id);
uint64_t object_number(sai_object_id_t id);

/* The object of an id, or NULL; or NULL for one of another type. */
struct object *object_find(sai_object_id_t id);
struct object *object_find_of(sai_object_id_t id, sai_object_type_t type);

/* The switch, or NULL. */
struct object *object_switch(void);

/* Calls every object of a type, the oldest first; the call may remove it. */
void object_each(sai_object_type_t type, void (*call)(struct object *o, void *arg), void *arg);

/* The oldest object of a type that is younger than the one of an id, which may be gone; NULL: none is. */
struct object *object_after(sai_object_type_t type, sai_object_id_t id);

/* The number of objects of a type. */
uint32_t object_count(sai_object_type_t type);

/*
 * The calls of the API. Each one that changes an object ends with the commit: a failed change
 * is undone, and committed once more.
 */
void object_commit_by(sai_status_t (*commit)(void));
sai_status_t object_create(const struct type *type, uint32_t count, const sai_attribute_t *list, sai_object_id_t *made);
sai_status_t object_set(const struct type *type, sai_object_id_t id, const sai_attribute_t *attr);
sai_status_t object_get(const struct type *type, sai_object_id_t id, uint32_t count, sai_attribute_t *list);
sai_status_t object_remove(const struct type *type, sai_object_id_t id);

/* Makes a built-in object: with a given id, without a record and without a commit. */
sai_status_t object_build(const struct type *type, sai_object_id_t id, uint32_t count, const sai_attribute_t *list);

/* Forgets an unreferenced built-in object, and its record. */
void object_dissolve(sai_object_id_t id);

/* The value stored, of which only the octets of its form are there; or NULL. */
const sai_attribute_value_t *object_value(const struct object *o, sai_attr_id_t id);

/*
 * Copies the attribute at *at, and moves *at, which is 0 at first, to the next one; false after
 * the last. Lists stay the object's.
 */
bool object_next(const struct object *o, uint32_t *at, sai_attribute_t *attr);

/* Stores a decision of the library itself, without a call of the type's handler. */
sai_status_t object_store(struct object *o, const sai_attribute_t *attr);

/* Writes the record of an object. */
sai_status_t object_save(const struct object *o);

/* Forgets all objects; their handlers are not called. */
void object_forget(void);

/* The number of objects that the caller made. */
size_t object_made(void);

/*
 * For restore.c: a caller's object without attributes, NULL for no memory; room for more
 * attributes, of so many octets by stored_octets; an attribute in place of the one that o has,
 * whose value becomes o's; and the references of all objects.
 */
struct object *object_adopt(const struct type *type, sai_object_id_t id);
bool object_reserve(struct object *o, uint32_t octets);
sai_status_t object_put(struct object *o, const struct attribute *a, sai_attribute_t *attr);
void object_count_references(void);

#endif
