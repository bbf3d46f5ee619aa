/* Policers: token buckets that the ingress program runs. */
#ifndef SOFTSAI_POLICER_H
#define SOFTSAI_POLICER_H

#include "object.h"

/* The bucket before the CPU, in packets. */
sai_status_t policer_guard_cpu(uint64_t rate, uint64_t burst);

sai_status_t policer_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values);
sai_status_t policer_clear(sai_object_id_t id);

#endif
