// SPDX-License-Identifier: Apache-2.0
/*
 * Records that outlive the process: for each object the octets that describe
 * it, in a BPF map that the program holds. All calls return 0 or -errno.
 */
#ifndef SOFTSAI_META_H
#define SOFTSAI_META_H

#include <stddef.h>
#include <stdint.h>

#define META_MAX 4096 /* octets a record */

/* Writes the record of an object, in place of one that it had. */
int meta_put(uint64_t object, const void *record, size_t size);

/* Removes the record of an object. */
int meta_remove(uint64_t object);

/* Calls each record by rising object, until one call returns other than 0, which it returns. */
int meta_each(int (*call)(uint64_t object, const void *record, size_t size));

/*
 * The number that the next object gets. It is counted in the first record, so
 * that the number of a removed object does not come again.
 */
int meta_next(uint64_t *number);

#endif
