// SPDX-License-Identifier: Apache-2.0
#include "hide.h"

#include <stdio.h>
#include <string.h>

static char names[256];

void hide(const char *list)
{
	snprintf(names, sizeof(names), "%s", list ? list : "");
}

void hide_also(const char *capability)
{
	size_t n = strlen(names);

	snprintf(names + n, sizeof(names) - n, "%s%s", n ? "," : "", capability);
}

bool hidden(const char *capability)
{
	size_t n = capability ? strlen(capability) : 0;

	for (const char *at = names; n && *at; at += strcspn(at, ", "), at += strspn(at, ", "))
		if (strncmp(at, capability, n) == 0 && strcspn(at, ", ") == n)
			return true;
	return false;
}
