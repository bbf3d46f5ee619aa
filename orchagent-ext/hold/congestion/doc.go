// SPDX-License-Identifier: Apache-2.0

// Package congestion decides when a flow in an egress queue is congested, what the
// nodes behind it are told (PFCM of draft-yang, PPFC of draft-xz), and which rate
// fits its sender (Rate Advice of draft-zz).
//
// A [Flow] is the state of one flow in one queue; the caller keeps it beside the
// flow and gives it the flow's octets in the queue whenever it learns of them. An
// [Advice] is the same for what the flow's sender was told. Everything is a
// function of what is given: the package reads no clock (times are nanoseconds on
// any one clock), sends nothing, and never looks at a packet. It allocates nothing.
package congestion
