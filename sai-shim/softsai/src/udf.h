// SPDX-License-Identifier: Apache-2.0
/*
 * User-defined fields. One place is supported: octets 4 to 7 of the BTH, or
 * some of them, that is offset 12 to 15 from the UDP header. They are read from
 * RoCEv2 packets only.
 */
#ifndef SOFTSAI_UDF_H
#define SOFTSAI_UDF_H

#include "object.h"

extern const struct type udf_type, udf_match_type, udf_group_type;

/* The octets of the BTH's word 4-7 that a UDF group is about: offset and number. */
bool udf_group_range(const struct object *group, uint32_t *offset, uint32_t *length);

/* The bits of the BTH's octets 4-7, host order, that a UDF group of a hash takes. */
bool udf_group_hash_mask(const struct object *group, uint32_t *mask);

#endif
