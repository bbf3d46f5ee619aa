// SPDX-License-Identifier: Apache-2.0
/* ACL tables and entries as SAI objects. A table's state is a struct acl_table. */
#ifndef SOFTSAI_ACL_H
#define SOFTSAI_ACL_H

#include "type.h"

extern const struct type acl_table_type, acl_entry_type;

/* SAI's own actions that entries can have, as sai_acl_action_type_t; returns how many. */
uint32_t acl_action_types(int32_t *list, uint32_t room);

#endif
