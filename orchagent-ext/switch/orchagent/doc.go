// SPDX-License-Identifier: Apache-2.0

// Package orchagent is the driver for a switch whose ASIC belongs to syncd: it
// programs the switch through rows that orchagent takes, ACLs from APPL_DB and the rest
// from CONFIG_DB.
//
//   - an [engine.Object] is a row of Sluice, whose name begins with
//     SLUICE, or a field that is added to the operator's list of hash fields;
//   - whether orchagent took a row is in STATE_DB (ACL_TABLE_TABLE, ACL_RULE_TABLE,
//     MIRROR_SESSION_TABLE), and the switch's abilities are in SWITCH_CAPABILITY|switch
//     and ACL_STAGE_CAPABILITY_TABLE|INGRESS; a row that was refused is removed, and
//     tried again after a while;
//   - counters are read from COUNTERS_DB, where orchagent has them polled; the depth of queues is
//     polled by syncd in a group of counters of Sluice, whose rows are in FLEX_COUNTER_DB.
//
// It is an engine.Driver, for one goroutine. It writes only rows that it created, but for
// the one list, and there only with leave of the operator (manage_switch_hash), and keeps
// in a file which fields it added. It writes to CONFIG_DB, APPL_DB and FLEX_COUNTER_DB alone, and
// leaves the rows of the last two to their consumers.
package orchagent
