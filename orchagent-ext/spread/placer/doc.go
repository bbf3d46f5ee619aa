// SPDX-License-Identifier: Apache-2.0

// Package placer keeps the flows that have entries on the switch placed: for each group
// of next hops it has a table of package placement, which it tells what the kernel, the
// counters and the entries say, and carries out the moves that the table decides.
//
// Package loop calls it, from one goroutine: [Placer.Place] for each new flow,
// [Placer.Poll] as often as it asks for. It is level-triggered: a flow that has an entry
// and is not known is taken over with its label, one that has none any more is forgotten.
// So a restart, or a reconciliation that takes entries away, needs no word.
//
// It reads the network by [Network], and changes labels by [Entries]; the clock is given.
package placer
