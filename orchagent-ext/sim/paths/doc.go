// SPDX-License-Identifier: Apache-2.0

// Package paths chooses the path of each connection of a simulation as the switches of a
// fabric do: by the hashes of package ecmp, over labels of package flow, with labels that
// package placement chooses (by the quotas of package plan, or without), or by the rules of
// package redirect. These packages decide; here are the packets' fields, and the samples and
// rates that the decisions are made of.
//
// Rules to next hops are decided within seconds. [Chooser.Settle] lets the tables watch the
// load as a fluid (package fluid) for that time before a run of packets.
package paths
