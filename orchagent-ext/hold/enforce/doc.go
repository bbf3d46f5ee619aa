// SPDX-License-Identifier: Apache-2.0

// Package enforce decides on the hold of a flow when a neighbor (PFCM of draft-yang) or a
// congested node (PPFC of draft-xz) asks to hold or slow it, and when that ends.
//
// A [Table] has the demands, their senders and their ends; it returns the flows to hold
// on the switch and those to release. [Pauses] returns the PFC frames that translate the
// same for a neighbor that obeys PFC only. Their caller, package flowcontrol, finds the
// flows of a message, and checks the rights of its sender.
//
// All results are functions of the arguments (times are nanoseconds of any one clock);
// clock, switch and sockets are the caller's. Every demand ends: a message can ask for
// 65,535 µs at most.
package enforce
