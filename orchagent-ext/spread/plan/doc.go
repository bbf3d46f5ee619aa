// SPDX-License-Identifier: Apache-2.0

// Package plan divides the traffic between the leaves of a Clos fabric of two tiers among
// its spines, so that uplinks and downlinks fill evenly. A leaf alone can fill only its
// uplinks: the other leaves that meet it on a downlink are hidden from it.
//
// Each leaf keeps a [Row] in a shared store: its prefixes, how many flows of which size
// it sends to each destination leaf, its links to the spines, and the rate that it
// receives from each. One planner reads all rows ([Read]), makes a [Plan] ([Make]), and
// writes each leaf its [Quotas]; the leaf applies them to its [placement.Table]
// ([Quotas.Apply]). A plan is made of one reading of all rows, so that it depends on one
// state of the fabric.
//
// It is pure: store, clock and the election of the planner are its callers'.
//
// # How
//
// Flows of one size class are edges between source and destination leaf. Half of the
// spines get every second edge of a trail through the graph (Euler split), so that each
// leaf sends and receives as much by one half as by the other, to one flow; and so on
// until a half is one spine. Where the number of spines is odd, the edges are colored
// with as many colors, such that each leaf has each color as often as any other, to one
// flow (equitable edge coloring of a bipartite graph). Of the two sides of a trail, or
// the spines for a color, the one is taken that lessens the imbalance of the classes
// before, the largest first. A spine of twice the weight takes part as two. Flows that
// fell to a spine without a link to one of their leaves go to the one where they do least
// harm.
package plan
