// SPDX-License-Identifier: Apache-2.0

// Package rtt measures round-trip times from the packets that pass a switch: from the switch to a
// host and back. A [Table] joins requests with their answers, and keeps a minimum for each host.
//
// Both directions of a connection pass: a request that asks for an answer (BTH AckReq, RDMA READ,
// atomics; IBTA volume 1 section 9.7.5) and the answer with its PSN. A connection is set up:
// REQ to REP, and REP to RTU (section 12.9). Only packets of a sender pass: the time from advice of
// a lower rate to that rate ([Reaction]).
//
// Each sample has the time that the host takes to answer, and the queues on the path; the least one
// in ten seconds is the path's (draft-ietf-ccwg-bbr section 5.5.10, MinRTTFilterLen). Here it is
// the second least one: packets are forged, and clocks of captures err, one at a time.
//
// The package is pure, reads no clock, and its memory is bounded. A Table belongs to one goroutine.
package rtt
