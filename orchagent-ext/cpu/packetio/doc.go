// SPDX-License-Identifier: Apache-2.0

// Package packetio takes the packets that the switch sends to the CPU: it parses them,
// keeps the flow table, reports flows that need a label to the control path, meters flows
// for export, and follows the health of connections.
//
// Each receive ring has a [Reader] of its own. The packet path is its one goroutine: in bursts, free of allocations and of locks that the control path holds. Its
// reports go through a bounded queue; those that find it full are dropped and counted,
// and repeated when the flow goes on.
package packetio
