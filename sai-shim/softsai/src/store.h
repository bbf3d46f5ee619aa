// SPDX-License-Identifier: Apache-2.0
/* What object.c and restore.c share: how objects are kept. */
#ifndef SOFTSAI_STORE_H
#define SOFTSAI_STORE_H

#include "object.h"

/* All types, each behind those whose objects it refers to. */
extern const struct type *const types[];
extern const size_t type_count;

/* The number of objects that the caller made. */
extern size_t objects_made;

/* A new object without attributes, findable by its id; NULL for no memory. */
struct object *object_link(const struct type *type, sai_object_id_t id);

/* Puts an attribute in place of the one that o has; the value becomes o's. */
sai_status_t object_put(struct object *o, const struct attribute *a, sai_attribute_t *attr);

/* Counts what a value refers to: by is 1 or -1. */
void object_refer(const struct attribute *a, const sai_attribute_value_t *v, int by);

#endif
