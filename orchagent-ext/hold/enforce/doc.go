// SPDX-License-Identifier: Apache-2.0

// Package enforce decides what is done to a flow when a neighbor (PFCM of draft-yang)
// or a congested node (PPFC of draft-xz) asks to hold or slow it, and when that ends.
//
// A [Table] has what was asked, by whom, until when; it says which flows are to be held
// on the switch and which are to go on. [Pauses] says which PFC frames translate the
// same for a neighbor that knows nothing better. Package flowcontrol calls them: it has
// found the flows that a message is about, and checked that its sender may ask.
//
// Everything is a function of what is given: the package reads no clock (times are
// nanoseconds on any one clock), touches no switch, and sends nothing. What is asked
// always ends: no message can ask for more than 65,535 µs.
package enforce
