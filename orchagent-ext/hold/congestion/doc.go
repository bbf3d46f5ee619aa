// SPDX-License-Identifier: Apache-2.0

// Package congestion decides when a flow in an egress queue is congested, the signals to
// the nodes upstream (PFCM of draft-yang, PPFC of draft-xz), and the rate that fits its
// sender (Rate Advice of draft-zz).
//
// A [Flow] is the state of one flow in one queue; the caller keeps it beside the flow and
// passes it the flow's octets in the queue whenever these are known. An [Advice] is the
// state of the advice to the flow's sender. All results are functions of the arguments
// (times are nanoseconds of any one clock); clock, packets and sockets are the caller's.
// It is free of allocations.
package congestion
