// SPDX-License-Identifier: Apache-2.0

// Package requests sums up the requests of this node to others: the PFCM to its upstream neighbors, and
// the PPFC to gateways, of all flows that the other node takes for one.
//
// A [Table] belongs to one machine (packages downstream and gateway), which asks it for the action and
// the time of each message before it sends it. All results are functions of the arguments (times are
// nanoseconds of any one clock). It is free of allocations up to the room that it was made with.
package requests
