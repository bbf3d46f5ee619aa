/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of a SAI library: key-values that it asks for, from any thread and at any time
 * while it is served. SAI's methods carry no pointer, so one profile is served at a time.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include "include/sai_abi.h"

struct profile;

/* A profile of n key-values, which it copies; NULL: out of memory. */
struct profile *profile_new(const char *const *keys, const char *const *values, int n);

/* Frees a profile that is not served, or NULL, with all values that it ever had. */
void profile_free(struct profile *p);

/*
 * Changes the value of one key; SAI_STATUS_ITEM_NOT_FOUND: it has no such key. The library may
 * read the value before still, which stays.
 */
sai_status_t profile_set(struct profile *p, const char *key, const char *value);

/* Has the methods answer from a profile; NULL: they answer as if it were empty. */
void profile_serve(struct profile *p);

/* SAI's methods, for sai_api_initialize. */
extern const sai_service_method_table_t profile_services;

#endif
