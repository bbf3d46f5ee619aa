// SPDX-License-Identifier: Apache-2.0
/* From the attributes of an ACL entry to its key, mask and actions. */
#ifndef SOFTSAI_ACL_RULE_H
#define SOFTSAI_ACL_RULE_H

#include "acl_view.h"
#include "object.h"

/* The number of UDF groups that a table can have as fields. */
#define ACL_UDF_GROUPS 4

/*
 * Compiles the attributes of an entry. An attribute of the right form whose value is not
 * supported gives the status for its index.
 */
sai_status_t acl_compile(const struct object *o, struct acl_rule *rule);

#endif
