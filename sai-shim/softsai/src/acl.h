// SPDX-License-Identifier: Apache-2.0
/*
 * ACL tables and entries onto the maps of the data plane.
 *
 * An entry's mask is its shape; a table has up to SOFTSAI_SHAPES of them, and in
 * each shape an entry is found by one hash lookup, however many there are. Two
 * entries of a table with the same fields, masks and values are refused, whatever
 * their priorities: the lower one could never match.
 */
#ifndef SOFTSAI_ACL_H
#define SOFTSAI_ACL_H

#include "bpf/softsai.h"
#include "index.h"
#include "object.h"

/* A table can have so many fields of UDF groups. */
#define ACL_UDF_GROUPS 4

/* A table's state. */
struct acl_shape {
	struct softsai_key mask;
	uint32_t entries;
	uint32_t priority; /* the highest that an entry had since the shape came up */
	bool single;	   /* the entry below is the only one */
	struct softsai_key key;
	struct softsai_entry entry;
};

struct acl_table {
	uint32_t number;
	uint32_t view; /* index of the published one + 1, or 0 */
	struct acl_shape shapes[SOFTSAI_SHAPES];
};

/* What an entry becomes in the data plane. */
struct acl_rule {
	struct softsai_key mask, key;
	struct softsai_entry entry;
};

/*
 * Compiles the attributes of an entry. An attribute that is right in form but
 * not supported in its value gives the status for its index.
 */
sai_status_t acl_compile(const struct object *o, struct acl_rule *rule);

/*
 * Puts a rule into a table, into *shape, or into any where that is below 0;
 * says which. With adopted it may be there already, and nothing is published.
 */
sai_status_t acl_insert(struct acl_table *t, const struct acl_rule *rule, int *shape, bool adopted);

/* Gives a rule that is there other actions or another priority. */
sai_status_t acl_update(struct acl_table *t, const struct acl_rule *rule, int shape);

/* Takes a rule out. */
sai_status_t acl_delete(struct acl_table *t, const struct acl_rule *rule, int shape);

/* Writes the shapes of a table where the ports look, and points them there. */
sai_status_t acl_publish(struct acl_table *t);

/* Publishes all tables: after those of an earlier process were read. */
void acl_publish_all(void);

/* The index of a counter or policer in its map. */
uint32_t acl_counter_index(const struct object *counter);
uint32_t policer_index(const struct object *policer);

/* SAI's own actions that entries can have, as sai_acl_action_type_t; returns how many. */
uint32_t acl_action_types(int32_t *list, uint32_t room);

/* The octets of the BTH's word 4-7 that a UDF group stands for: offset and number. */
bool udf_group_range(const struct object *group, uint32_t *offset, uint32_t *length);

#endif
