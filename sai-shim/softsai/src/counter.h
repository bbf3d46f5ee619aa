// SPDX-License-Identifier: Apache-2.0
/* ACL counters: the sum of the counts of each CPU. */
#ifndef SOFTSAI_COUNTER_H
#define SOFTSAI_COUNTER_H

#include "object.h"

extern const struct type acl_counter_type;

/* The index of a counter in its map. */
uint32_t counter_index(const struct object *counter);

#endif
