// SPDX-License-Identifier: Apache-2.0

// Package packetio takes the packets that the switch sends to the CPU: it parses
// them, keeps the flow table, tells the control path of flows that are to be
// labelled, meters flows for export, and follows how connections fare.
//
// Package loop runs a [Reader] for each receive ring. The packet path is its one
// goroutine: in bursts, without an allocation a packet, and with no lock that
// the control path holds. What it tells goes through a bounded queue; what does
// not fit is dropped and counted, and told again when the flow goes on.
package packetio
