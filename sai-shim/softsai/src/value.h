// SPDX-License-Identifier: Apache-2.0
/* Attribute values: checked, copied, freed, returned to callers, and as octets in a record. */
#ifndef SOFTSAI_VALUE_H
#define SOFTSAI_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "attribute.h"
#include "type.h"

/* Reports whether the value can be read: each list has a pointer and an allowed length. */
bool value_valid(const struct attribute *a, const sai_attribute_value_t *v);

/* The octets of a value that its form uses: the first ones. */
size_t value_octets(const struct attribute *a);

/* An attribute in the memory that its form needs: a third of sai_attribute_t, for most. */
struct stored {
	sai_attr_id_t id;
	uint32_t size;	  /* octets, with this head */
	uint64_t value[]; /* the first octets of a sai_attribute_value_t */
};

uint32_t stored_octets(const struct attribute *a);

/* A copy with lists of its own; 0 or -ENOMEM, and then nothing is to be freed. */
int value_copy(const struct attribute *a, sai_attribute_value_t *to, const sai_attribute_value_t *from);
void value_free(const struct attribute *a, sai_attribute_value_t *v);

/* Copies elements into a caller's list; too short: its count, and BUFFER_OVERFLOW. */
sai_status_t value_fill(void *list, const void *elements, uint32_t count, size_t size);

/* Fills the value that a caller reads; v NULL: never set, all zero. */
sai_status_t value_give(const struct attribute *a, sai_attribute_value_t *to, const sai_attribute_value_t *v);

/* Octets written, or 0 where the room is too small. */
size_t value_encode(const struct attribute *a, const sai_attribute_t *attr, uint8_t *to, size_t room);

/* Octets of the first attribute, or 0 after the last. */
size_t value_size(const uint8_t *from, size_t size);

/*
 * Octets read, or 0 where they are not an attribute. *a becomes NULL for an attribute
 * that the type lacks, else attr is the caller's to free.
 */
size_t value_decode(const struct type *type, const uint8_t *from, size_t size, sai_attribute_t *attr,
		    const struct attribute **a);

#endif
