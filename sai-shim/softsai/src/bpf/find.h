/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Finds the ACL entry that a packet's key matches. */
#ifndef SOFTSAI_FIND_H
#define SOFTSAI_FIND_H

#include <stdbool.h>

#include "digest.h"
#include "maps.h"

/* The seed of digests; filled by the loader. */
const volatile __u64 softsai_seed[SOFTSAI_SEED_WORDS];

/* Word n of the key of an entry of the shape that matches. */
static __always_inline __u64 masked(const struct softsai_shape *s, const struct softsai_key *key, __u32 n)
{
	return ((const __u64 *)key)[n] & ((const __u64 *)&s->mask)[n];
}

/* The only entry of a shape, if it matches. */
static __always_inline struct softsai_entry *find_single(struct softsai_shape *s, const struct softsai_key *key)
{
	__u64 differ = 0;

	for (__u32 n = 0; n < SOFTSAI_KEY_WORDS; n++)
		differ |= masked(s, key, n) ^ ((const __u64 *)&s->key)[n];
	return differ ? NULL : &s->entry;
}

/* The entry of a shape that matches. */
static __always_inline struct softsai_entry *find_among(const struct softsai_shape *s, const struct softsai_key *key)
{
	__u64 digest = s->digest, differ = 0;
	struct softsai_cell *cell;

	for (__u32 n = 0; n < SOFTSAI_KEY_WORDS; n++)
		digest += softsai_digest(masked(s, key, n), softsai_seed[n]);
	cell = bpf_map_lookup_elem(&soft_entries, &digest);
	if (!cell || cell->id != s->id)
		return NULL;
	for (__u32 n = 0; n < SOFTSAI_KEY_WORDS; n++)
		differ |= masked(s, key, n) ^ ((const __u64 *)&cell->key)[n];
	return differ ? NULL : &cell->entry;
}

/*
 * Copies the entry of highest priority to best; false: there is none. Shapes
 * are sorted by the highest priority that an entry of theirs has, so the search
 * ends where no better one can come.
 */
static __always_inline bool find(__u32 index, const struct softsai_key *key, struct softsai_entry *best)
{
	struct softsai_view *view = bpf_map_lookup_elem(&soft_views, &index);
	struct softsai_entry *e;
	bool found = false;

	if (!view)
		return false;
	for (__u32 i = 0; i < SOFTSAI_SHAPES; i++) {
		struct softsai_shape *s = &view->shape[i];

		if (i >= view->shapes || (found && best->priority >= s->priority))
			break;
		e = s->single ? find_single(s, key) : find_among(s, key);
		if (e && (!found || e->priority > best->priority)) {
			*best = *e;
			found = true;
		}
	}
	return found;
}

#endif
