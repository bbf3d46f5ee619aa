// SPDX-License-Identifier: Apache-2.0
/* The method tables of SAI, and the lock that each method takes. */
#ifndef SOFTSAI_API_H
#define SOFTSAI_API_H

#include <pthread.h>

#include "profile.h"
#include "sai_abi.h"

extern pthread_mutex_t api_lock;

/* The profile of sai_api_initialize; get is NULL before it. */
extern struct profile api_profile;

/* Registers the types of objects, and the commit that ends a change of one. */
void api_open(void);

/* The method table of an API, or NULL. */
void *api_table(sai_api_t api);

#endif
