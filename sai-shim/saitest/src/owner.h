/* SPDX-License-Identifier: Apache-2.0 */
/* A switch that another process serves: its objects outlive the processes that change them. */
#ifndef OWNER_H
#define OWNER_H

#include "value.h"

/* Opens OWNER of the profile, if there is one. -1: it cannot be opened. */
int owner_open(const char *file);
void owner_close(void);

/*
 * Around each call: changes by other processes are applied here first; this call takes effect as
 * a whole, or not at all where the process is killed.
 */
void owner_enter(void);
void owner_leave(void);

#endif
