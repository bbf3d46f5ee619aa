// SPDX-License-Identifier: Apache-2.0
/* Mirror sessions: copies of packets leave by a port of the switch. */
#ifndef SOFTSAI_MIRROR_H
#define SOFTSAI_MIRROR_H

#include "object.h"

/* Octets that a session's copies have at most; 0: all. */
uint16_t mirror_truncate(const struct object *session);

#endif
