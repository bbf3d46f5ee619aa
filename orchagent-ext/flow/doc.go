// SPDX-License-Identifier: Apache-2.0

// Package flow knows RoCEv2 flows: what tells one from another ([Key]), a
// bounded table of them with what was counted ([Table]), the queue pairs behind
// them with how each was learned ([Provenance]), the IPv6 flow label that makes
// ECMP tell them apart ([Algorithm], draft-hu), and the Stream ID that names one
// in a PFCM message (draft-yang).
//
// The packet path and the command line tool call it. A Table belongs to one
// goroutine and allocates nothing a packet. The package reads no clock: times
// are nanoseconds that the caller gives.
package flow
