// SPDX-License-Identifier: Apache-2.0
/* The switch: one a process, one a network namespace. */
#ifndef SOFTSAI_SWITCH_H
#define SOFTSAI_SWITCH_H

#include "profile.h"
#include "type.h"

extern const struct type switch_type;

sai_status_t switch_create(const struct profile *profile, uint32_t count, const sai_attribute_t *list,
			   sai_object_id_t *id);

/*
 * Releases the switch, which goes on forwarding as programmed. If nothing is
 * programmed, the BPF program is detached from the ports: then no trace is left.
 */
sai_status_t switch_remove(sai_object_id_t id);

#endif
