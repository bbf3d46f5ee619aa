// SPDX-License-Identifier: Apache-2.0
/* The record of an object: its attributes as octets, which the next process reads. */
#ifndef SOFTSAI_RECORD_H
#define SOFTSAI_RECORD_H

#include "type.h"

/* Copies the attribute of an object at *at, and moves *at to the next one; false after the last. */
typedef bool (*record_next_fn)(const struct object *o, uint32_t *at, sai_attribute_t *attr);

/* Writes the record of an object, in place of the present one; the log has the fault. */
sai_status_t record_write(const struct type *type, sai_object_id_t id, const struct object *o, record_next_fn next);

/* Takes an attribute out of a record; the value becomes the callee's. */
typedef sai_status_t (*record_put_fn)(struct object *o, const struct attribute *a, sai_attribute_t *attr);

/* The octets that the attributes of a record take in an object. */
uint32_t record_octets(const struct type *type, const void *record, size_t size);

/* Gives o each attribute of a record that its type has. 0 or -errno. */
int record_read(const struct type *type, const void *record, size_t size, struct object *o, record_put_fn put);

#endif
