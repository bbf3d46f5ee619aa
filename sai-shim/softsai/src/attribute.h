// SPDX-License-Identifier: Apache-2.0
/* The forms of attributes: the parts of a value, and who may set it. */
#ifndef SOFTSAI_ATTRIBUTE_H
#define SOFTSAI_ATTRIBUTE_H

#include <stdint.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

/* How a value is laid out in sai_attribute_value_t. */
enum form {
	PLAIN,	/* an element */
	LIST,	/* {count, pointer} of elements */
	FIELD,	/* ACL field: enable, mask, data */
	ACTION, /* ACL action: enable, parameter */
	FIELD_LIST,
	ACTION_LIST,
};

/* Every attribute can be read. REFERENCE: elements are ids of objects. VOLATILE: the next process does not get it. */
enum access { CREATE = 1, SET = 2, MUST = 4, REFERENCE = 8, VOLATILE = 16 };

/* A row of a type's table of attributes. */
struct attribute {
	sai_attr_id_t id;
	uint8_t form;
	uint8_t size;		/* octets an element */
	uint8_t access;		/* enum access; MUST: create needs it */
	const char *capability; /* name by which SLUICE_HIDE hides it, or NULL */
};

/* Status for the attribute at index of a list: SAI adds the index to the code, then negates. */
static inline sai_status_t attribute_status(sai_status_t first, uint32_t index)
{
	return first - (sai_status_t)index;
}

#endif
