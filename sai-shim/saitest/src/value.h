/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: their names and types, as text, as copies, and their references. */
#ifndef VALUE_H
#define VALUE_H

#include <stdio.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

/* Types of values, by the member of the union; FIELD_ and ACTION_: within an ACL entry's. */
enum kind {
	BOOL,
	U8,
	U16,
	U32,
	S32,
	U64,
	OID,
	POINTER,
	ADDRESS,
	OIDS,
	U8S,
	U32S,
	S32S,
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_IP4,
	FIELD_IP6,
	FIELD_OID,
	FIELD_OCTETS,
	ACTION_U8,
	ACTION_U32,
	ACTION_S32,
	ACTION_OID,
	ACTION_OIDS,
};

struct attribute {
	sai_object_type_t type;
	sai_attr_id_t id;
	enum kind kind;
	const char *prefix; /* of the name: SAI_ACL_ENTRY_ATTR_ */
	const char *name;   /* the rest */
};

/* Returns NULL for an attribute that the library does not know. */
const struct attribute *attribute_of(sai_object_type_t type, sai_attr_id_t id);

/* The type of an object's id, its name, and its number among those of its type. */
sai_object_type_t type_of(sai_object_id_t id);
const char *type_name(sai_object_type_t type);
uint32_t number_of(sai_object_id_t id);

/* Writes an object as acl_entry#1, an attribute as NAME=value; one that is not known as number=words. */
void print_object(FILE *out, sai_object_id_t id);
void print_attribute(FILE *out, sai_object_type_t type, const sai_attribute_t *a);

/* The list in a value and the size of its elements, 0 where it is no list. */
size_t list_in(const struct attribute *known, const sai_attribute_value_t *value, sai_u8_list_t **list);

/* The objects that a value refers to: how many, and where. */
uint32_t references(const struct attribute *known, const sai_attribute_value_t *value, const sai_object_id_t **ids);

/* Copies a value with its list; free_value frees that. */
sai_attribute_value_t copy_value(const struct attribute *known, const sai_attribute_value_t *value);
void free_value(const struct attribute *known, sai_attribute_value_t *value);

#endif
