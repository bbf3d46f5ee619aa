// SPDX-License-Identifier: Apache-2.0

// Package paths maps gNMI paths to leaves of Sluice's tables, and leaves to paths. Paths
// have two styles (gNMI specification section 2.7, origin):
//
//   - the models' ([YANG]; no origin, or openconfig):
//     /sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=Ethernet0]/role
//   - SONiC's ([SonicDB]; origin sonic-db, or a database as target):
//     /CONFIG_DB/localhost/SLUICE_PORT/Ethernet0/role
//
// Both are five levels deep, from the root ([Root]) to the leaf ([AtLeaf]), and both come
// from the schema: it alone names tables and fields.
//
// Values, connections to databases and clients belong to its callers.
package paths
