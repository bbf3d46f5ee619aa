// SPDX-License-Identifier: Apache-2.0
/* Queues as SAI objects, and their statistics. */
#ifndef SOFTSAI_QUEUE_OBJECT_H
#define SOFTSAI_QUEUE_OBJECT_H

#include "object.h"

extern const struct type queue_type;

/* Makes the queue objects of the ports. */
sai_status_t queue_make(void);

/* Gives all queues the marks of their objects, after the records of an earlier process were read. */
sai_status_t queue_apply_marks(void);

/* Reads statistics; SAI_STATUS_NOT_SUPPORTED for one that the kernel lacks. */
sai_status_t queue_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values);
sai_status_t queue_clear(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids);

#endif
