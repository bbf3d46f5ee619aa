// SPDX-License-Identifier: Apache-2.0

// Package placer keeps the flows that have entries on the switch placed: for each group
// of next hops it has a table of package placement. It feeds the table with next hops and
// counters, and returns the moves that the table decides.
//
// The flows are those of a [Registry], each a [Flow] with the placer's part in it. A poll is
// [Placer.Poll], [Placer.Sample] with the counter of each of [Placer.Placed], [Placer.Moves]
// with the flows that are held, and [Placer.CarryOut]; [Placer.Place] is for each new flow. All
// are for one goroutine. A flow of the registry that the placer has not seen before is taken over
// with its label, as after a restart.
//
// It reads the network by [Network], and changes labels by [Switch]; the clock is given.
package placer
