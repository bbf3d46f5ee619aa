// SPDX-License-Identifier: Apache-2.0

// Package orchagent is the driver for a switch whose ASIC belongs to syncd: it
// programs the switch through rows that orchagent takes, ACLs from APPL_DB and the rest
// from CONFIG_DB.
//
//   - an [engine.Object] is a row of Sluice, whose name begins with
//     SLUICE, or a field that is added to the operator's list of hash fields;
//   - whether orchagent took a row is in STATE_DB (ACL_TABLE_TABLE,
//     ACL_RULE_TABLE, MIRROR_SESSION_TABLE), and what the switch can do in
//     SWITCH_CAPABILITY|switch and ACL_STAGE_CAPABILITY_TABLE|INGRESS; a row that was
//     refused is removed, and tried again after a while;
//   - counters are read from COUNTERS_DB, where orchagent has them polled.
//
// Package loop uses it as engine.Driver, from one goroutine. It never writes a row
// that it did not create, but for the one list, and there only with leave of the
// operator (manage_switch_hash), and keeps in a file which fields it added. It writes to
// CONFIG_DB and APPL_DB alone, and is never a consumer of APPL_DB.
package orchagent
