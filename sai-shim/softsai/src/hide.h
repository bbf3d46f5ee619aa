// SPDX-License-Identifier: Apache-2.0
/* Capabilities that are hidden: the switch answers like one that lacks them. */
#ifndef SOFTSAI_HIDE_H
#define SOFTSAI_HIDE_H

#include <stdbool.h>

/* Hides the capabilities of a comma list (SLUICE_HIDE) only. */
void hide(const char *list);

/* Hides one more, which this machine lacks. */
void hide_also(const char *capability);

/* Reports whether a capability is hidden; NULL never is. */
bool hidden(const char *capability);

#endif
