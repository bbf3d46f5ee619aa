/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the library: their attributes, and how many refer to them. */
#ifndef STORE_H
#define STORE_H

#include "value.h"

enum change { ADDED, REMOVED, PUT };

/* Calls note with each change from now on; a is that of PUT. NULL: nothing is called. */
void store_tell(void (*note)(enum change change, sai_object_id_t id, const sai_attribute_t *a));

/* Forgets all objects. */
void store_close(void);

/* A new object without attributes: its id. */
sai_object_id_t store_add(sai_object_type_t type);
bool store_has(sai_object_id_t id);

/* Whether others refer to the object. */
bool store_used(sai_object_id_t id);
void store_remove(sai_object_id_t id);
void store_put(sai_object_id_t id, const sai_attribute_t *a);

/* NULL: it was never set. */
const sai_attribute_value_t *store_get(sai_object_id_t id, sai_attr_id_t attribute);

/* The entries of an ACL table: how many there are; up to room of them are written to ids. */
uint32_t store_entries(sai_object_id_t table, sai_object_id_t *ids, uint32_t room);

/* The members of an ACL table group, likewise. */
uint32_t store_members(sai_object_id_t group, sai_object_id_t *ids, uint32_t room);

/* The objects of a type, likewise. */
uint32_t store_objects(sai_object_type_t type, sai_object_key_t *keys, uint32_t room);

#endif
