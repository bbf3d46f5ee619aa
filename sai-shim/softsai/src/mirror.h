// SPDX-License-Identifier: Apache-2.0
/* Sample objects, and mirror sessions: copies of packets that go to the CPU or leave by a port of the switch. */
#ifndef SOFTSAI_MIRROR_H
#define SOFTSAI_MIRROR_H

#include "object.h"

extern const struct type samplepacket_type, mirror_type;

/* Octets that a session's copies have at most; 0: all. */
uint16_t mirror_truncate(const struct object *session);

#endif
