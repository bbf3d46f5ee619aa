// SPDX-License-Identifier: Apache-2.0
/* ACL tables and entries as SAI objects. A table's state is a struct acl_table. */
#ifndef SOFTSAI_ACL_H
#define SOFTSAI_ACL_H

#include "drift.h"
#include "type.h"

extern const struct type acl_table_type, acl_entry_type;

/* SAI's own actions that entries can have, as sai_acl_action_type_t; returns how many. */
uint32_t acl_action_types(int32_t *list, uint32_t room);

/*
 * Finds elements of the BPF maps that another program has removed or changed: of tables, and of
 * entries, some hundreds in each call after acl_audit_begin; true: this was the last call of an
 * audit, which has up to 4096 entries, and the next one goes on from there. acl_mend writes
 * elements again; the next commit points ports to them.
 */
void acl_audit_begin(void);
void acl_audit_tables(struct drift_list *l);
bool acl_audit_entries(struct drift_list *l);
sai_status_t acl_mend(void);

#endif
