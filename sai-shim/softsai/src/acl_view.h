// SPDX-License-Identifier: Apache-2.0
/*
 * The entries of ACL tables in the maps of the data plane.
 *
 * An entry's mask is its shape; a table has up to SOFTSAI_SHAPES of them, and in
 * each shape an entry is found by one hash lookup, however many there are. Two
 * entries of a table with the same fields, masks and values are refused, whatever
 * their priorities: the lower one could never match.
 *
 * A port finds the shapes of its table in a view. The calls here change a table's shapes,
 * and acl_commit writes the views of the tables that changed.
 */
#ifndef SOFTSAI_ACL_VIEW_H
#define SOFTSAI_ACL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/softsai.h"
#include "sai_abi.h"

/* Form of an entry in the data plane. */
struct acl_rule {
	struct softsai_key mask, key;
	struct softsai_entry entry;
};

struct acl_shape {
	struct softsai_key mask;
	uint32_t entries;
	uint32_t priority; /* the highest that an entry had since the shape came up */
	bool single;	   /* the entry below is the only one */
	struct softsai_key key;
	struct softsai_entry entry;
};

/* The state of a table. */
struct acl_table {
	uint32_t number;
	uint32_t view; /* index of the one that is written + 1, or 0 */
	bool changed;  /* since then */
	struct acl_shape shapes[SOFTSAI_SHAPES];
};

/*
 * Puts a rule into a table, into *shape, or with *shape below 0 into the one of its mask, which
 * it returns. With adopted the map may have it already.
 */
sai_status_t acl_insert(struct acl_table *t, const struct acl_rule *rule, int *shape, bool adopted);

/* Gives a rule that is there other actions or another priority. */
sai_status_t acl_update(struct acl_table *t, const struct acl_rule *rule, int shape);

/* Takes a rule out. Packets match it until acl_drop, so that ports have a rule in its place before. */
void acl_delete(struct acl_table *t, const struct acl_rule *rule, int shape);

/*
 * Whether the maps have the view of a table, and a rule, as they were written; they are to be
 * written again: the view by acl_commit.
 */
bool acl_view_good(const struct acl_table *t);
void acl_view_renew(struct acl_table *t);
bool acl_rule_good(const struct acl_table *t, const struct acl_rule *rule, int shape);
sai_status_t acl_rule_renew(const struct acl_table *t, const struct acl_rule *rule, int shape);

/* Writes the views of the tables that changed; *changed becomes true if there are any. */
sai_status_t acl_commit(bool *changed);

/* Drops the rule that was deleted, when no port refers to it any more. */
void acl_drop(void);

#endif
