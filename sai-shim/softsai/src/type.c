// SPDX-License-Identifier: Apache-2.0
#include "type.h"

#include "hide.h"

static const struct type *const *types;
static size_t type_count;

void type_register(const struct type *const *list, size_t count)
{
	types = list;
	type_count = count;
}

const struct type *type_at(size_t index)
{
	return index < type_count ? types[index] : NULL;
}

const struct type *type_find(sai_object_type_t type)
{
	for (size_t i = 0; i < type_count; i++)
		if (types[i]->type == type && !hidden(types[i]->capability))
			return types[i];
	return NULL;
}

const struct attribute *type_attribute(const struct type *type, sai_attr_id_t id)
{
	for (size_t i = 0; i < type->count; i++)
		if (type->attributes[i].id == id)
			return hidden(type->attributes[i].capability) ? NULL : &type->attributes[i];
	return NULL;
}
