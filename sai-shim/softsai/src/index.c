// SPDX-License-Identifier: Apache-2.0
#include "index.h"

#include <stdlib.h>
#include <string.h>

static struct pool_state {
	uint8_t *used; /* by number */
	uint32_t room;
	uint32_t hint; /* all below are taken */
} pools[POOLS];

sai_status_t index_store(struct object *o, uint32_t index)
{
	sai_attribute_t attr = { .id = ATTR_INDEX, .value.u32 = index };
	sai_status_t status = object_store(o, &attr);

	return status ? status : object_save(o);
}

int64_t index_of(const struct object *o)
{
	const sai_attribute_value_t *v = object_value(o, ATTR_INDEX);

	return v ? (int64_t)v->u32 : -1;
}

static bool widen(struct pool_state *p, uint32_t room)
{
	uint8_t *used;

	if (room <= p->room)
		return true;
	used = realloc(p->used, room);
	if (!used)
		return false;
	memset(used + p->room, 0, room - p->room);
	p->used = used;
	p->room = room;
	return true;
}

sai_status_t index_take(struct object *o, enum pool pool, uint32_t first, uint32_t end, bool adopted)
{
	struct pool_state *p = &pools[pool];
	int64_t index = index_of(o);

	if (!widen(p, end))
		return SAI_STATUS_NO_MEMORY;
	if (adopted && index >= first && index < end) {
		p->used[index] = 1;
		return SAI_STATUS_SUCCESS;
	}
	for (index = p->hint > first ? p->hint : first; index < end && p->used[index]; index++)
		;
	p->hint = index;
	if (index == end)
		return SAI_STATUS_INSUFFICIENT_RESOURCES;
	p->used[index] = 1;
	return index_store(o, index);
}

void index_release(const struct object *o, enum pool pool)
{
	struct pool_state *p = &pools[pool];
	int64_t index = index_of(o);

	if (index < 0 || index >= p->room)
		return;
	p->used[index] = 0;
	if (index < p->hint)
		p->hint = index;
}

void index_forget(void)
{
	for (int i = 0; i < POOLS; i++)
		free(pools[i].used);
	memset(pools, 0, sizeof(pools));
}
