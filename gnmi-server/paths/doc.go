// SPDX-License-Identifier: Apache-2.0

// Package paths says which leaves of Sluice's tables a gNMI path means, and
// which path a leaf has. It knows two ways to name them (gNMI specification
// section 2.7, origin):
//
//   - the models' ([YANG]; no origin, or openconfig):
//     /sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=Ethernet0]/role
//   - SONiC's ([SonicDB]; origin sonic-db, or a database as target):
//     /CONFIG_DB/localhost/SLUICE_PORT/Ethernet0/role
//
// Both are five levels deep, from the root ([Root]) to the leaf ([AtLeaf]), and
// both come from the schema: no table or field is named here.
//
// The other packages of the gNMI server call it. It knows no value, no database
// connection and no client.
package paths
