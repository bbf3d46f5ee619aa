// SPDX-License-Identifier: Apache-2.0

// Package placement chooses flow labels so that ECMP's hash takes flows to where there is
// room. A [Table] has the flows of one ECMP group: it places new ones, and moves flows
// to other members by giving them other labels.
//
// It is pure: the clock, the counters and the model of the switch's hash are given, and
// its decisions are returned. A Table belongs to one goroutine.
//
// # A new flow
//
// It goes to the member with the least load ÷ weight, and among those that are alike to
// the one with fewest flows to the same destination leaf. The search for a label begins
// at the flow's hash label and passes over labels in use between its two hosts, so that
// labels stay distinct. Where the model cannot predict, the flow keeps its hash label.
// [Table.Place] is for a flow that the choice cannot reorder: one that is silent, or
// whose label changes in any case. One that sends with its hash label is added by
// [Table.Enter], and waits for a pause.
//
// # Moves
//
// While the worst member is above the threshold, [Table.Look] takes the move, or the
// exchange of two flows, that lowers it most, until it is below the goal. It considers
// the largest flows only, makes at most so many moves a look, and leaves out moves that
// gain too little, and flows that moved a moment ago, that are held, or that send where
// only idle flows may move. A flow is idle by its counter alone: see [Table.Sample]. The
// caller, who carries moves out, reads the counter once more right before each change,
// and calls [Table.Cancel] where it has changed.
//
// # Quotas
//
// Leaves that each fill their own uplinks can still meet on one downlink. A plan for the
// fabric (package plan) gives each leaf quotas: how many flows of a size to a
// destination leaf each member takes. With [Table.SetQuotas] moves follow these.
//
// # A model that is wrong
//
// [Table.Check] compares what members should have sent with what their ports counted. A
// model that is wrong twice in a row stops all moves, and new flows get hash labels,
// until the model is right for some time or is replaced.
//
// # Without labels
//
// Rates and their windows ([Table.Sample], [Table.Observe]), idleness, size classes ([Class],
// [ClassRate]), and load, floor and max ÷ mean of [Table.Report] depend on members alone. A
// table with an observed model, whose flows come by [Table.Enter], has all of them for a
// switch that spreads flows otherwise than by labels.
package placement
