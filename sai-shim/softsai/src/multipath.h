// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's multipath hash: net.ipv4 and net.ipv6 fib_multipath_hash_policy
 * and fib_multipath_hash_fields of the network namespace, and net.ipv4
 * fib_multipath_hash_seed, which both families use. The values before the first change are kept
 * in the switch's record.
 */
#ifndef SOFTSAI_MULTIPATH_H
#define SOFTSAI_MULTIPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "drift.h"
#include "object.h"

/*
 * Makes a family (0 IPv4, 1 IPv6) hash these fields, bits as in
 * fib_multipath_hash_fields; 0: the former fields.
 */
sai_status_t multipath_set(int family, uint32_t fields);

/*
 * The seed, as it is in the kernel now; 0: a random number that cannot be read. Linux
 * before 6.11 has none: SAI_STATUS_NOT_SUPPORTED.
 */
sai_status_t multipath_seed(uint32_t *seed);

/* Sets the seed; 0: the former one. */
sai_status_t multipath_set_seed(uint32_t seed);

/* Finds settings that another program has changed since; sets them again. Both return 0 or -errno. */
int multipath_audit(struct drift_list *l);
int multipath_mend(void);

/* Puts both families and the seed back. */
sai_status_t multipath_reset(void);

/* Reports whether a setting is other than it was. */
bool multipath_managed(void);

/* The fields that IPv6 hashes, or hashed before they were changed; -1: cannot be read. */
long multipath_kernel_fields(void);

#endif
