// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// state is the hot state of a direction: two cache lines of 64 octets.
//
// With many connections a packet's time is waiting for memory. So an acknowledgement needs the first
// line of its direction alone, and, where times are known, both of the direction that it answers; other packets
// need both of theirs. Other values of a direction are in the other slabs of [store], by number: 0 until they
// are needed.
type state struct {
	last int64 // time of the last packet with one, ns; flow.NoTime: none has one
	ends
	checked uint32 // Table.changes when peer was looked for
	peer    uint32 // number of the other direction's seat, which may be another's by now; 0: unknown
	ports   uint32 // of the last packet, in store.ports
	traffic traffic
	waits   waits
	label   uint32 // flow label of the last packet
	srcPort uint16 // UDP, of the last packet
	flags   flags

	// the second line
	requests, responses sequence
	messages            messages
	rtt                 uint32 // a tally of ns
	rest                uint32
	data                int64 // time of the last packet with payload; before the first one, of the last that could have had it
	payload             uint32
	ce                  uint32
}

// ends name a direction in a table: its route, where it goes, and for datagrams where it comes from. A
// state has source for connections, too, once it is known.
type ends struct{ route, destQP, source uint32 }

// traffic counts packets of a direction, each up to half its range. [traffic.moveTo] empties it.
type traffic struct{ packets, octets, ect, acks uint32 }

// count counts a packet with its octets and ECN codepoint. It reports whether the counts are to be moved.
func (t *traffic) count(octets uint32, ecn uint8) (full bool) {
	t.packets++
	t.octets += octets
	if ecn != 0 {
		t.ect++
	}
	return (t.packets|t.octets|t.acks)>>31 != 0
}

// moveTo adds the counts to those of a direction, and sets them to 0.
func (t *traffic) moveTo(c *Counters) {
	t.addTo(c)
	*t = traffic{}
}

// addTo adds the counts to those of a direction.
func (t *traffic) addTo(c *Counters) {
	c.Packets += uint64(t.packets)
	c.Octets += uint64(t.octets)
	c.ECT += uint64(t.ect)
	c.Acks += uint64(t.acks)
	c.NAKs[roce.NotNAK] += uint64(t.acks)
}

// flags are facts of a direction, and above them how its source queue pair is known.
type flags uint16

const (
	// datagrams: ends.source is a part of the direction's key
	datagrams flags = 1 << iota
	// sending: the message that is being sent goes on
	sending
	// answering: the response that is being sent goes on
	answering
	late    // rest.lateRun goes on
	parted  // only a part of the packets came last
	reading // the end of the responses of rest.read is unknown
	paid    // payload was seen
	untimed // the first packet with it had no time
)

const fromShift = 14

// has reports whether a fact holds.
func (f flags) has(fact flags) bool { return f&fact != 0 }

// put sets whether a fact holds.
func (f *flags) put(fact flags, holds bool) {
	*f &^= fact
	if holds {
		*f |= fact
	}
}

// from returns how the source queue pair is known.
func (f flags) from() flow.Provenance { return flow.Provenance(f >> fromShift) }

// setFrom sets how the source queue pair is known.
func (f *flags) setFrom(p flow.Provenance) { *f = *f&(1<<fromShift-1) | flags(p)<<fromShift }

// birth has values of a direction that change with its first packets.
type birth struct {
	first  int64    // the earliest time of a packet, ns; flow.NoTime: none has one
	data   int64    // that of the first packet with payload
	starts [2]int64 // when requests and responses began
	orphan orphan
}

// rest has the values that packets of a healthy connection rarely need.
type rest struct {
	Counters // events, and counts that were moved from the state

	readAt  uint8       // in reads
	refused bool        // a NAK came since the sender last went back
	read    readRequest // the last one
	lateRun lateRun
	latest  int64                 // time of a packet after which the clock went back, ns; 0: it did not
	reads   [maxReads]readRequest // a ring: the last ones
	holes   [2][maxHoles]hole     // of the sequences
}

// wentBack reports whether a sender that sends again does so on its own: after a pause, in ns, and
// without a NAK.
func (r *rest) wentBack(pause, patience int64) bool {
	alone := pause > patience && !r.refused
	r.refused = false
	return alone
}

// maxReads is how many read requests of a direction are remembered: as many as an adapter has
// outstanding.
const maxReads = 16

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

// lateRun is packets that came late, one right after the other. If the next one was here
// before, the sender went back, and they were sent again.
type lateRun struct {
	next    uint32
	packets uint64
	octets  uint64
}

// store is the memory of a table's directions, by numbers. A state and its birth have one number.
type store struct {
	states     array[state]
	births     array[birth]
	rests      slab[rest]
	pendings   pendings
	tallies    array[tally]
	histograms slab[histogram.Coarse]
	routes     routes
	ports      portPairs
}

// newStore returns an empty store; reserved: memory for so many directions is taken at once.
func newStore(reserved int) (s store) {
	s.states, s.births = newArray[state](reserved), newArray[birth](reserved)
	s.pendings.array, s.pendings.more = newArray[pending](0), newArray[morePending](0)
	s.tallies, s.routes.array = newArray[tally](0), newArray[routed](0)
	s.routes.by = map[route]uint32{}
	s.ports = portPairs{newArray[portsInUse](0), map[portPair]uint32{}}
	return s
}

// seat is the place of a direction in a store; its state is nil for no direction.
type seat struct {
	state  *state
	number uint32
	in     *store
}

// at returns the seat of a number.
func (s *store) at(number uint32) seat { return seat{s.states.at(number), number, s} }

// occupy begins a direction in a seat.
func (s seat) occupy(e ends) {
	*s.state = state{last: flow.NoTime, ends: e}
	*s.birth() = birth{first: flow.NoTime}
	s.state.flags.put(datagrams, e.source != 0)
}

// leave gives the memory of a direction back, but for the seat.
func (s seat) leave() {
	d, in := s.state, s.in
	in.routes.release(d.route)
	in.ports.release(d.ports)
	in.pendings.release(d.waits.ring)
	for _, n := range [...]uint32{d.rtt, d.messages.sizes} {
		if n != 0 {
			in.histograms.give(in.tallies.at(n).histogram)
			in.tallies.give(n)
		}
	}
	in.rests.give(d.rest)
}

// birth returns the values of the direction's first packets.
func (s seat) birth() *birth { return s.in.births.at(s.number) }

// rest returns the values that are rarely needed.
func (s seat) rest() *rest { return s.in.rests.ensure(&s.state.rest) }

// key returns the ends by which the table finds the direction.
func (s seat) key() ends {
	e := s.state.ends
	if !s.state.flags.has(datagrams) {
		e.source = 0
	}
	return e
}

// peer returns the seat of the other direction of the connection; without a state: it is unknown, or
// takes another path.
func (s seat) peer() seat {
	n := s.state.peer
	if n == 0 {
		return seat{}
	}
	p := s.in.states.at(n)
	if p.destQP != s.state.source || p.route != s.in.routes.at(s.state.route).reverse { // its seat is another's
		s.state.peer = 0
		return seat{}
	}
	return seat{p, n, s.in}
}

// which returns the number of a sequence: 0 for the requests, 1 for the responses.
func (s seat) which(of *sequence) int {
	if of == &s.state.responses {
		return 1
	}
	return 0
}

// gaps returns the gaps of a sequence.
func (s seat) gaps(of *sequence) gaps {
	n := s.which(of)
	return gaps{of, &s.rest().holes[n], &s.birth().starts[n]}
}

// tally returns the tally that a place numbers. It takes one where that is 0.
func (s seat) tally(number *uint32) *tally {
	if *number == 0 {
		*number = s.in.tallies.take()
	}
	return s.in.tallies.at(*number)
}

// see judges a PSN of one of the sequences that does not follow the one before, as [gaps.see] does.
func (s seat) see(of *sequence, psn, span uint32, now, patience int64) (e Event, missing uint32) {
	if of.begun() {
		return s.gaps(of).see(psn, span, now, patience)
	}
	of.begin(psn, span)
	s.birth().starts[s.which(of)] = now
	return InOrder, 0
}

// counters returns all counts of the direction.
func (s seat) counters() (c Counters) {
	d := s.state
	if r := s.in.rests.get(d.rest); r != nil {
		c = r.Counters
	}
	d.traffic.addTo(&c)
	c.CE += uint64(d.ce)
	c.Payload += uint64(d.payload)
	return c
}

// histogram returns the histogram of the values in a tally and a run, in to; nil for none.
func (s seat) histogram(number uint32, r run, to *histogram.Coarse) *histogram.Coarse {
	if number == 0 && r.times == 0 {
		return nil
	}
	*to = histogram.Coarse{}
	if number != 0 {
		t := s.in.tallies.at(number)
		if h := s.in.histograms.get(t.histogram); h != nil {
			*to = *h
		}
		t.sum(to)
	}
	to.AddTimes(uint64(r.value), r.times)
	return to
}
