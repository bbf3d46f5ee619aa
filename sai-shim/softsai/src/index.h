// SPDX-License-Identifier: Apache-2.0
/*
 * The numbers by which the data plane's maps know objects. An object keeps its
 * number in its record, so the next process finds the contents of the maps.
 */
#ifndef SOFTSAI_INDEX_H
#define SOFTSAI_INDEX_H

#include "object.h"

/* Attributes of the library's own, in records only. */
#define ATTR_INDEX 0x7fff0000	     /* u32: table number, counter, policer, shape */
#define ATTR_BASE_PACKETS 0x7fff0001 /* u64: value of a counter when it was set to 0 */
#define ATTR_BASE_BYTES 0x7fff0002
#define ATTR_SYSCTLS 0x7fff0003 /* s32 list: multipath settings as they were */

enum pool { POOL_TABLES, POOL_COUNTERS, POOL_POLICERS, POOL_HOPS, POOLS };

/*
 * Gives an object a number of a pool, from first to below end, and stores it; an
 * adopted object keeps the one it has. SAI_STATUS_INSUFFICIENT_RESOURCES: none left.
 */
sai_status_t index_take(struct object *o, enum pool pool, uint32_t first, uint32_t end, bool adopted);
void index_release(const struct object *o, enum pool pool);

/* The number, or -1. */
int64_t index_of(const struct object *o);

sai_status_t index_store(struct object *o, uint32_t index);

/* Forgets all numbers. */
void index_forget(void);

#endif
