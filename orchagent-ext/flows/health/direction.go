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

// Counters count the packets of one direction, and events among them. Those that
// most packets change come first.
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

// Direction is the health of one direction of a connection.
//
// With many connections a packet's time is waiting for memory. So the fields that
// packets of a healthy connection need are in five cache lines of 64 octets in a
// row, those for acknowledgements follow, and the others are in [rest].
type Direction struct {
	Key
	Source  uint32 // the source queue pair
	checked uint32 // Table.changes when peer was looked for
	peer    *Direction

	// the second line
	// First: earliest time of a packet, ns; Last: that of the last packet with one; flow.NoTime:
	// none has one
	First, Last int64
	// data: time of the first and of the last packet with Payload
	data [2]int64
	// In and Out: ports of the last packet, as the caller numbers them; 0: not known
	In, Out uint64
	Label   uint32 // flow label of the last packet
	SrcPort uint16 // UDP, of the last packet
	// waiting: which of the ring pending wait for an acknowledgement, a bit for each
	waiting   uint16
	pendingAt uint8
	readAt    uint8 // in the ring rest.reads
	// From: how Source is known; flow.None: it is not
	From flow.Provenance
	// sending and answering: the message that is being sent, the response, goes on
	sending, answering bool
	late               bool // rest.lateRun goes on
	parted             bool // only a part of the packets came last

	// the third line
	requests, responses sequence

	// the fourth line
	// RTT: ns from a request to its acknowledgement; nil: none was seen
	RTT *histogram.Coarse
	// Sizes: octets of messages that were sent; nil: none was seen whole
	Sizes   *histogram.Coarse
	sizes   *histogram.Coarse // for Sizes; nil: it is made when it is needed
	rest    *rest
	message message
	orphan  message
	mtu     uint32 // octets; 0: unknown
	reading bool   // the end of the responses of rest.read is unknown

	// the fifth line, and on
	Counters

	// pending: a ring: PSNs of requests that wait for an acknowledgement
	pending [maxPending]uint32
	sent    [maxPending]int64 // when they were sent

	_ [32]byte // up to a whole line
}

// rest has the fields that packets of a healthy connection rarely need.
type rest struct {
	read    readRequest           // the last one
	reads   [maxReads]readRequest // a ring: the last ones
	lateRun lateRun
	holes   [2][maxHoles]hole // of the sequences
	latest  int64             // time of a packet after which the clock went back, ns; 0: it did not
	refused bool              // a NAK came since the sender last went back
}

// wentBack reports whether a sender that sends again does so on its own: after a pause, in ns, and
// without a NAK.
func (r *rest) wentBack(pause, patience int64) bool {
	alone := pause > patience && !r.refused
	r.refused = false
	return alone
}

const (
	// Bounds of the state of one direction, so that each takes the same memory.
	maxReads   = 16 // as many as an adapter has outstanding
	maxPending = 16
)

// readRequest is a read request, whose responses have PSNs from its own on.
type readRequest struct {
	psn, length uint32
	valid       bool
}

// end is the PSN behind the responses, for a path MTU.
func (r *readRequest) end(mtu uint32) uint32 {
	n := (uint64(r.length) + uint64(mtu) - 1) / uint64(mtu)
	return (r.psn + uint32(min(max(n, 1), farJump))) & psnMask
}

// message is a send of several packets whose first one was seen; orphan one whose
// last one was, but whose first one was missed.
type message struct {
	psn, octets uint32 // of that packet
	valid       bool
}

// lateRun is packets that came late, one right after the other. If the next one was here
// before, the sender went back, and they were sent again.
type lateRun struct {
	next    uint32
	packets uint64
	octets  uint64
}

// Peer returns the other direction of the connection; nil: it is unknown, or
// takes another path.
func (d *Direction) Peer() *Direction {
	p := d.peer
	// its place may be another's
	if p != nil && (p.Point != d.Point || p.DestQP != d.Source || p.Src != d.Dst || p.Dst != d.Src) {
		d.peer = nil
	}
	return d.peer
}

// Goodput returns the rate of the application's octets, each counted once, in
// bit/s; ok is false where all came at one instant.
func (d *Direction) Goodput() (rate float64, ok bool) {
	span := d.data[1] - d.data[0]
	return float64(d.Payload) * 8e9 / float64(max(span, 1)), span > 0
}

// count counts the properties of a packet that are independent of its PSN.
func (d *Direction) count(p *roce.Packet, now int64) {
	d.Packets++
	d.Octets += uint64(p.Len())
	switch p.TrafficClass() & 3 {
	case 3:
		d.CE++
		d.ECT++
	case 1, 2:
		d.ECT++
	}
	switch {
	case d.Packets == 1 || d.First == flow.NoTime:
		d.First, d.Last = now, now
	case now == flow.NoTime:
	default:
		if now < d.Last { // the clock went back
			d.First, d.rest.latest = min(d.First, now), max(d.rest.latest, d.Last)
		}
		d.Last = now
	}
	d.Label, d.SrcPort = p.FlowLabel(), p.SrcPort()
}

// part counts a packet whose neighbors may be missing: by its own header, with
// its place in the sequence left out.
func (d *Direction) part(p *roce.Packet, op roce.Opcode) {
	if h, ok := p.AETH(); ok && op.IsResponse() && op&operationMask == roce.RCAck {
		nak := h.NAK()
		d.NAKs[nak]++
		if nak == roce.NotNAK {
			d.Acks++
		}
	}
	if d.parted {
		return
	}
	d.parted = true
	for _, s := range []*sequence{&d.requests, &d.responses} {
		for _, h := range s.holes[:s.n] {
			d.Unsettled += uint64(h.n)
		}
		*s = sequence{holes: s.holes}
	}
	d.forget()
	d.rest.reads, d.readAt = [maxReads]readRequest{}, 0
	d.sending, d.answering, d.late = false, false, false
}

// useful counts octets of the application that come for the first time.
func (d *Direction) useful(octets uint32, now int64) {
	if d.Payload == 0 || d.data[0] == flow.NoTime {
		d.data[0] = now
	}
	if octets > 0 {
		d.Payload += uint64(octets)
		if now != flow.NoTime {
			d.data[1] = now
		}
	}
}

// End returns the latest time of a packet, ns: that of the last one, unless the clock went
// back; flow.NoTime: none has one.
func (d *Direction) End() int64 {
	if d.rest.latest == 0 {
		return d.Last
	}
	return max(d.Last, d.rest.latest)
}

// stall counts a pause before a packet that was to be expected sooner.
func (d *Direction) stall(now, limit int64) {
	if now == flow.NoTime || d.Last == flow.NoTime {
		return
	}
	pause := now - d.Last
	if pause > limit && d.Packets > 0 && (d.sending || d.answering || d.waiting != 0 && d.Peer() != nil) {
		d.Stalls++
		d.Stalled += pause
		d.LongestStall = max(d.LongestStall, pause)
	}
}

// judge counts the event that a PSN means.
func (d *Direction) judge(psn uint32, e Event, missing, octets uint32, now int64) {
	switch e {
	case Restart:
		d.Restarts++
	case Gap:
		d.Gaps++
		d.Missing += uint64(missing)
	case Reordered:
		d.Reordered++
	case Recovered:
		d.Recovered++
		d.Retransmitted += uint64(octets)
	case Duplicate:
		d.Duplicates++
		d.Retransmitted += uint64(octets)
	}
	// before the first that was seen
	if missing == 0 && (e == Reordered || e == Recovered) {
		d.Missing++
	}
	if e != Duplicate {
		d.useful(octets, now)
	}
	d.wentBack(psn, e, octets)
}

// wentBack takes packets that came late for sent again, where the one behind them was here
// before.
func (d *Direction) wentBack(psn uint32, e Event, octets uint32) {
	if !d.late && e != Reordered {
		return
	}
	r := &d.rest.lateRun
	follows := d.late && psn == r.next
	d.late = e == Reordered
	switch {
	case e == Duplicate && follows:
		d.Reordered -= r.packets
		d.Recovered += r.packets
		d.Retransmitted += r.octets
	case e == Reordered && follows:
		*r = lateRun{(psn + 1) & psnMask, r.packets + 1, r.octets + uint64(octets)}
	case e == Reordered:
		*r = lateRun{(psn + 1) & psnMask, 1, uint64(octets)}
	}
}
