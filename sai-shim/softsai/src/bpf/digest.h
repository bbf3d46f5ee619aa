/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The digest of a key, under which its entry lies in the map. A map's own hash
 * and comparison of a whole key cost more than all the rest of the search.
 *
 * It is the sum NH of UMAC (RFC 4418, section 5.2.2), whose products do not wait
 * for each other, by a secret seed: a sender cannot make flows that meet in
 * one digest. Two keys may; so an entry keeps its key, and matches nothing else.
 */
#ifndef SOFTSAI_DIGEST_H
#define SOFTSAI_DIGEST_H

#include <linux/types.h>

/* The part of the word of a key, of octets 8n to 8n+7, in the digest by word n of the seed. */
static inline __attribute__((always_inline)) __u64 softsai_digest(__u64 word, __u64 seed)
{
	return (__u64)(__u32)(word + seed) * (__u32)((word >> 32) + (seed >> 32));
}

#endif
