// SPDX-License-Identifier: Apache-2.0
#include "drift.h"

#include <stdarg.h>
#include <stdio.h>

void drift_add(struct drift_list *l, const char *part, const char *place, bool mendable, const char *format, ...)
{
	sai_sluice_drift_t *d;
	va_list arguments;

	if (l->count++ >= l->room)
		return;
	d = &l->out[l->count - 1];
	*d = (sai_sluice_drift_t){ .mendable = mendable };
	snprintf(d->part, sizeof(d->part), "%s", part);
	snprintf(d->place, sizeof(d->place), "%s", place);
	va_start(arguments, format);
	vsnprintf(d->fault, sizeof(d->fault), format, arguments);
	va_end(arguments);
}
