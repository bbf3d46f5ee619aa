// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// Key names one direction of a connection, or the datagrams of a queue pair, where its
// packets pass.
type Key struct {
	// Point: where: of a router that sees packets come and leave, the port
	Point    uint32
	Src, Dst [16]byte // of the session; IPv4 as ::ffff:a.b.c.d
	DestQP   uint32
	SrcQP    uint32 // of datagrams, else 0
}

// Counters count the packets of one direction, and events among them.
type Counters struct {
	Packets, Octets uint64 // Octets of IP packets
	CE, ECT         uint64 // packets that are marked; that can be
	Payload         uint64 // octets of the application, each PSN once
	CNPs, Acks      uint64 // packets
	NAKs            [roce.NumNAKs]uint64

	Gaps       uint64 // how often PSNs were missing
	Missing    uint64 // PSNs that were missing
	Reordered  uint64 // of those: came late
	Recovered  uint64 // of those: were sent again
	Duplicates uint64 // packets that were here before
	// Retransmitted: octets of the application of Recovered and Duplicates
	Retransmitted uint64
	Restarts      uint64 // connections that began, after the first
	// Resumed: how often every packet came again, after a part had come
	Resumed   uint64
	Unsettled uint64 // of Missing: were still missing when only a part came

	// Stalls: pauses longer than Config.Stall while something was to be sent or answered
	Stalls       uint64
	Stalled      int64 // ns of them in all
	LongestStall int64 // ns

	// Timeouts: how often the sender went back after a pause longer than Config.Patience that no
	// NAK asked for, where both directions pass
	Timeouts uint64
}

// Lost returns how many PSNs are missing, as far as this point sees them. It decreases
// when a missing one comes late or again.
func (c *Counters) Lost() uint64 {
	return c.Missing - min(c.Missing, c.Reordered+c.Recovered+c.Unsettled)
}

// NAKed is how many requests were refused. It includes the RNR NAKs, by which a receiver
// asks for a pause.
func (c *Counters) NAKed() (n uint64) {
	for _, one := range c.NAKs[roce.NotNAK+1:] {
		n += one
	}
	return n
}

// Direction is the health of one direction of a connection. It is a copy, and valid until the table's
// next call.
type Direction struct {
	Key
	Counters
	Source uint32          // the source queue pair
	From   flow.Provenance // how Source is known; flow.None: it is not
	// First, Last: earliest time of a packet, ns; that of the last packet with one; flow.NoTime:
	// none has one
	First, Last int64
	// In and Out: ports of the last packet, as the caller numbers them; 0: not known
	In, Out uint64
	Label   uint32 // flow label of the last packet
	SrcPort uint16 // UDP, of the last packet

	of   *Table
	seat seat
	end  int64
	data [2]int64 // time of the first and of the last packet with Payload

	rtt, sizes histogram.Coarse // where they were asked for
}

// Peer returns the other direction of the connection; nil: it is unknown, or
// takes another path. It is valid until the next call.
func (d *Direction) Peer() *Direction {
	if p := d.seat.peer(); p.state != nil {
		return d.of.show(p, &d.of.shown[1])
	}
	return nil
}

// Goodput returns the rate of the application's octets, each counted once, in
// bit/s; ok is false where all came at one instant.
func (d *Direction) Goodput() (rate float64, ok bool) {
	span := d.data[1] - d.data[0]
	return float64(d.Payload) * 8e9 / float64(max(span, 1)), span > 0
}

// End returns the latest time of a packet, ns: that of the last one, unless the clock went
// back; flow.NoTime: none has one.
func (d *Direction) End() int64 { return d.end }

// RTT returns ns from a request to its acknowledgement; nil: none was seen.
func (d *Direction) RTT() *histogram.Coarse {
	return d.seat.histogram(d.seat.state.rtt, run{}, &d.rtt)
}

// Sizes returns the octets of messages that were sent; nil: none was seen whole.
func (d *Direction) Sizes() *histogram.Coarse {
	return d.seat.histogram(d.seat.state.messages.sizes, d.seat.state.messages.size, &d.sizes)
}
