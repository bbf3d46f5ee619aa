// SPDX-License-Identifier: Apache-2.0

// Package health measures the health of RoCEv2 connections from the packets that
// pass: packets that are missing, late or sent again, NAKs, marks, the time to an
// acknowledgement, goodput, sizes of messages, stalls. One direction of a
// connection is enough; figures that need both (times, who was refused) are there
// where both pass.
//
// The package is passive, reads no clock, and keeps bounded state for each
// direction of a connection, however long it lives ([Table]). A Table belongs to
// one goroutine.
//
// Figures from PSNs are about the point where packets pass. A packet that was
// lost before it leaves a gap; one that was lost after it is seen twice. A packet
// that closes a gap counts as sent again if a NAK asked for it, if it came later
// than [Config.Patience], or if the packets after it were here before, as when a
// sender goes back (go-back-N); else it counts as overtaken.
package health
