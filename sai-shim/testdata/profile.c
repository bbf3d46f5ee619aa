/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that does nothing but read its profile, in the ways that vendors'
 * libraries do, and write what it got to the file that the profile names.
 */
#include <stdio.h>

#include "sai_abi.h"

static void walk(FILE *out, const char *how, const sai_service_method_table_t *services, const char *variable)
{
	const char *value = NULL;

	for (int i = 0; i < 16 && services->profile_get_next_value(0, &variable, &value) == 0; i++)
		fprintf(out, "%s: %s=%s\n", how, variable, value);
}

/* As SONiC's virtual switch library of 202605 does. */
static void walk_by_null(FILE *out, const sai_service_method_table_t *services)
{
	for (int i = 0; i < 16; i++) {
		const char *variable = NULL, *value = NULL;

		if (services->profile_get_next_value(0, &variable, &value) != 0)
			return;
		fprintf(out, "null: %s=%s\n", variable, value);
	}
}

/* Stops after two pairs, and begins again. */
static void walk_in_part(FILE *out, const sai_service_method_table_t *services)
{
	const char *variable = NULL, *value = NULL;

	for (int i = 0; i < 2 && services->profile_get_next_value(0, &variable, &value) == 0; i++)
		fprintf(out, "part: %s=%s\n", variable, value);
}

sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *services)
{
	const char *path = services->profile_get_value(0, "OUT"), *variable = "OUT";
	FILE *out = path ? fopen(path, "w") : NULL;

	(void)flags;
	if (!out)
		return SAI_STATUS_FAILURE;
	fprintf(out, "get: %s\n", services->profile_get_value(0, "ABSENT") ? "something" : "nothing");
	walk(out, "first", services, NULL);
	walk(out, "again", services, NULL); /* a pointer to NULL begins again */
	walk_by_null(out, services);	    /* a pointer to NULL in each call goes on */
	walk_by_null(out, services);
	walk_in_part(out, services);
	walk_in_part(out, services);
	fprintf(out, "reset: %d\n", services->profile_get_next_value(0, NULL, NULL));
	walk(out, "reset", services, variable); /* so does a value of NULL, whatever the variable */
	fprintf(out, "after the last: %d\n", services->profile_get_next_value(0, &variable, &path));
	fclose(out);
	return SAI_STATUS_SUCCESS;
}

sai_status_t sai_api_query(sai_api_t api, void **method_table)
{
	static sai_switch_api_t nothing;

	*method_table = &nothing;
	return api == SAI_API_SWITCH ? SAI_STATUS_SUCCESS : SAI_STATUS_NOT_SUPPORTED;
}
