// SPDX-License-Identifier: Apache-2.0
/* Whether the kernel has everything that the library made in it, and what other programs put in front. */
#ifndef SOFTSAI_AUDIT_H
#define SOFTSAI_AUDIT_H

#include "drift.h"

/*
 * Finds what is not as it was made, piece by piece, of which each takes a millisecond or less. *piece
 * is 0 at the first, and becomes the next one, or 0 after the last. A piece may be called again.
 * SAI_STATUS_FAILURE: the kernel does not answer. It changes nothing.
 */
sai_status_t audit(uint32_t *piece, struct drift_list *l);

/* Puts a part back; the caller commits. SAI_STATUS_NOT_SUPPORTED: the library cannot. */
sai_status_t audit_mend(const sai_sluice_drift_t *drift);

#endif
