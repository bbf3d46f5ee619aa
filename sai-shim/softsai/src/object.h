// SPDX-License-Identifier: Apache-2.0
/*
 * The objects of the switch: what the caller made, with their attributes as he
 * gave them. Each type says in a table which attributes it has; what stands in
 * no table is answered as not supported, and nothing is ever ignored.
 *
 * Everything here runs under one lock, held by the callers in api.c.
 */
#ifndef SOFTSAI_OBJECT_H
#define SOFTSAI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

/* How a value stands in sai_attribute_value_t, and in what. */
enum form {
	PLAIN,	/* an element */
	LIST,	/* {count, pointer} of elements */
	FIELD,	/* ACL field: enable, mask, data */
	ACTION, /* ACL action: enable, parameter */
	FIELD_LIST,
	ACTION_LIST,
};

enum access { CREATE = 1, SET = 2, MUST = 4, REFERENCE = 8, VOLATILE = 16 };

/* One attribute of a type. */
struct attribute {
	sai_attr_id_t id;
	uint8_t form;
	uint8_t size;	/* octets an element */
	uint8_t access; /* CREATE, SET, MUST be given; elements REFER to objects; VOLATILE: not for the next process */
	const char *capability; /* name by which SLUICE_HIDE hides it, or NULL */
};

struct object;

/* A type of object. Each call may be NULL. */
struct type {
	sai_object_type_t type;
	const char *name;
	const struct attribute *attributes;
	size_t count;
	size_t room; /* octets of the type's own state in each object */
	const char *capability;

	/* Programs a new object, or with adopted the one of an earlier process. */
	sai_status_t (*create)(struct object *o, bool adopted);
	/* Programs a changed attribute, which o already holds. */
	sai_status_t (*set)(struct object *o, sai_attr_id_t id);
	/* Fills what is not stored; SAI_STATUS_ITEM_NOT_FOUND: take what is stored. */
	sai_status_t (*get)(struct object *o, sai_attribute_t *attr);
	sai_status_t (*remove)(struct object *o);
};

struct object {
	sai_object_id_t id;
	const struct type *type;
	struct object *next;
	uint32_t references; /* by attributes of other objects */
	uint32_t count;
	sai_attribute_t *attributes;
	void *state; /* of type->room octets */
};

/* An object id holds its type. Port ids hold the ifindex, others a running number. */
sai_object_id_t object_id(sai_object_type_t type, uint64_t number);
sai_object_type_t object_type(sai_object_id_t id);
uint64_t object_number(sai_object_id_t id);

/* The object of an id, or NULL. */
struct object *object_find(sai_object_id_t id);

/* Calls every object of a type, or of all with type 0; the call may remove it. */
void object_each(sai_object_type_t type, void (*call)(struct object *o, void *arg), void *arg);

/* Makes an object. With id not 0 it gets that one, else a new one. */
sai_status_t object_create(const struct type *type, sai_object_id_t id, uint32_t count, const sai_attribute_t *list,
			   sai_object_id_t *made);
sai_status_t object_set(const struct type *type, sai_object_id_t id, const sai_attribute_t *attr);
sai_status_t object_get(const struct type *type, sai_object_id_t id, uint32_t count, sai_attribute_t *list);
sai_status_t object_remove(const struct type *type, sai_object_id_t id);

/* The value stored, or NULL. */
const sai_attribute_value_t *object_value(const struct object *o, sai_attr_id_t id);

/* Stores what the library itself decided, without asking the type. */
sai_status_t object_store(struct object *o, const sai_attribute_t *attr);

/* Makes the objects of the records again. */
sai_status_t object_restore(void);

/* Writes the record of an object. */
sai_status_t object_save(const struct object *o);

/* Forgets all objects; programs nothing. */
void object_forget(void);

/* The number of objects that the caller made. */
size_t object_made(void);

/* Copies elements into a caller's list; too short: its count, and BUFFER_OVERFLOW. */
sai_status_t object_fill(void *list, const void *elements, uint32_t count, size_t size);

/* The table's row of an attribute that is not hidden, or NULL. */
const struct attribute *type_attribute(const struct type *type, sai_attr_id_t id);

/* The type of a number, or NULL for one that is not there or is hidden. */
const struct type *type_find(sai_object_type_t type);

/* Status for the attribute at index of a list: SAI adds the index to the code, then negates. */
static inline sai_status_t attribute_status(sai_status_t first, uint32_t index)
{
	return first - (sai_status_t)index;
}

/* Capabilities that the profile hides: a comma list. */
void hide(const char *list);
bool hidden(const char *capability);

/* Hides one more: what this machine does not have. */
void hide_also(const char *capability);

extern const struct type switch_type, port_type, queue_type, acl_table_type, acl_entry_type, acl_counter_type,
	hash_type, udf_type, udf_match_type, udf_group_type, policer_type, trap_type, trap_group_type,
	samplepacket_type, mirror_type, scheduler_type;

#endif
