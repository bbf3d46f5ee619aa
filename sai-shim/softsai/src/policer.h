// SPDX-License-Identifier: Apache-2.0
/* Policers: token buckets that the ingress program runs. */
#ifndef SOFTSAI_POLICER_H
#define SOFTSAI_POLICER_H

#include "object.h"

extern const struct type policer_type;

/* The index of a policer in its map. */
uint32_t policer_index(const struct object *policer);

/* Adds the effect of a sai_packet_action_t to enum softsai_action; false: it is not supported. */
bool packet_actions(int32_t action, uint32_t *actions);

/* The bucket before the CPU, in packets, while no policer guards it. */
sai_status_t policer_guard_cpu(uint64_t rate, uint64_t burst);

/*
 * Makes a policer of packets the bucket before the CPU, as it is and as it will be
 * set; NULL: none. Its statistics are those of the bucket.
 */
sai_status_t policer_guard_by(const struct object *policer);

/* Whether a policer guards the CPU. */
bool policer_guards(void);

sai_status_t policer_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values);
sai_status_t policer_clear(sai_object_id_t id);

#endif
