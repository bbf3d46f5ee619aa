/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library whose threads read its profile until it is uninitialized: the value of KEY has
 * one letter throughout, and is as before when it is read once more.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sai_abi.h"

#define THREADS 2

static pthread_t threads[THREADS];
static const sai_service_method_table_t *services;
static atomic_bool stop;

static void check(const char *value)
{
	for (size_t i = 1; value && i < strlen(value); i++)
		if (value[i] != value[0]) {
			fprintf(stderr, "the value is %s\n", value);
			abort();
		}
}

static void *run(void *arg)
{
	const char *before = NULL;

	(void)arg;
	while (!stop) {
		const char *variable = NULL, *value = NULL;

		check(before);
		before = services->profile_get_value(0, "KEY");
		check(before);
		if (services->profile_get_next_value(0, &variable, &value) == 0)
			check(value);
	}
	return NULL;
}

sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *of)
{
	(void)flags;
	services = of;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			abort();
	return SAI_STATUS_SUCCESS;
}

sai_status_t sai_api_uninitialize(void)
{
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return SAI_STATUS_SUCCESS;
}

sai_status_t sai_api_query(sai_api_t api, void **method_table)
{
	static sai_switch_api_t table;

	*method_table = &table;
	return api == SAI_API_SWITCH ? SAI_STATUS_SUCCESS : SAI_STATUS_NOT_SUPPORTED;
}
