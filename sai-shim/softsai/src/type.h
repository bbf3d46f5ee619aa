// SPDX-License-Identifier: Apache-2.0
/*
 * Types of objects, and their registry. A type has a table of attributes; an attribute
 * without a row is answered as not supported, and no attribute is ever ignored.
 */
#ifndef SOFTSAI_TYPE_H
#define SOFTSAI_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "attribute.h"

struct object;

/*
 * A type. Each handler may be NULL. Handlers change the state that belongs to the object;
 * joint results of several objects are published by the commit after them
 * (commit.h). A handler that fails leaves everything as it was.
 */
struct type {
	sai_object_type_t type;
	const char *name;
	const struct attribute *attributes;
	size_t count;
	size_t room; /* octets of the type's own state in each object */
	const char *capability;
	bool built_in; /* the library makes these objects */

	/* Takes a new object, or with adopted the one of an earlier process. */
	sai_status_t (*create)(struct object *o, bool adopted);
	/* Takes a changed attribute, which o already holds. */
	sai_status_t (*set)(struct object *o, sai_attr_id_t id);
	/* Fills values that are not stored; SAI_STATUS_ITEM_NOT_FOUND: the stored value is right. */
	sai_status_t (*get)(struct object *o, sai_attribute_t *attr);
	sai_status_t (*remove)(struct object *o);
};

/* Registers all types, each after those whose objects it refers to. The list stays the caller's. */
void type_register(const struct type *const *list, size_t count);

/* The registered type at an index, or NULL after the last. */
const struct type *type_at(size_t index);

/* The type of a number, or NULL for one that is unknown or hidden. */
const struct type *type_find(sai_object_type_t type);

/* The row of an attribute, or NULL for one that is unknown or hidden. */
const struct attribute *type_attribute(const struct type *type, sai_attr_id_t id);

#endif
