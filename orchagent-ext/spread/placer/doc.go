// SPDX-License-Identifier: Apache-2.0

// Package placer keeps the flows that have entries on the switch placed: for each group
// of next hops it has a table of package placement. It feeds the table with next hops,
// counters and entries, and carries out the moves that the table decides.
//
// It is for one goroutine: [Placer.Place] for each new flow, [Placer.Poll] as often as it
// asks for. It is level-triggered: an unknown flow with an entry is taken over with its
// label, a flow whose entry is gone is forgotten. So a restart, or a reconciliation that
// removes entries, needs no event.
//
// It reads the network by [Network], and changes labels by [Entries]; the clock is given.
package placer
