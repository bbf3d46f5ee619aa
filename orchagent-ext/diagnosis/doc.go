// SPDX-License-Identifier: Apache-2.0

// Package diagnosis tells from the packets that pass how the connections of RoCEv2 fare:
// packets that are missing, late or sent again, NAKs, marks, the time to an
// acknowledgement, goodput, sizes of messages, stalls. It needs one direction of a
// connection; what takes both (times, who was refused) it says where both pass.
//
// The command line tool calls it. It is passive, reads no clock, and keeps the same
// bounded state for each direction of a connection, however long that lives ([Table]). A
// Table belongs to one goroutine.
//
// What is told from PSNs is told of the point where packets pass. A packet that was lost
// before it leaves a gap; one that was lost behind it is seen twice. What closes a gap was
// sent again if a NAK asked for it, if it came later than [Config.Patience], or if what
// follows it was here before, as when a sender goes back; else it was overtaken.
package diagnosis
