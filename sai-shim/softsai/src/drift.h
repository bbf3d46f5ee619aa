// SPDX-License-Identifier: Apache-2.0
/* A list of what is not as the library made it, as audit() of sai_sluice_ext.h returns it. */
#ifndef SOFTSAI_DRIFT_H
#define SOFTSAI_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

struct drift_list {
	sai_sluice_drift_t *out;
	uint32_t room, count; /* count may be more than there is room for */
};

/* Adds a part; mendable: the library can put it back, else it is another owner's. */
void drift_add(struct drift_list *l, const char *part, const char *place, bool mendable, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#endif
