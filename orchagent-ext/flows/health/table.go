// SPDX-License-Identifier: Apache-2.0

package health

import (
	"iter"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// Config of a [Table]. Zero fields have defaults.
type Config struct {
	// Capacity: directions; 0: 65,536. Behind that the one that was idle longest of a few
	// leaves
	Capacity int
	// Patience: ns after which what was missing was sent again; 0: 3 ms, as Wireshark has it
	// for TCP
	Patience int64
	Stall    int64 // ns of a pause that counts as a stall; 0: 1 ms

	// Keep is how long, in ns, a direction stays after its last packet: in a
	// table full of younger ones, a new one is refused. 0: the oldest one always
	// gives way.
	Keep int64

	// Reserve makes the table take the memory that all directions need at once, for flows of a
	// flow.Table of so many slots. Memory that only some need, such as those with losses, comes later, for
	// many at once. 0: all memory comes so.
	Reserve int

	// Untimed means that packets have the time when they were read instead of
	// when they came: times to an acknowledgement and stalls are left out.
	Untimed bool

	Removed func(*Direction) // called before a direction leaves, which is valid during the call; may be nil
}

const (
	// Defaults of a Config; times in ns.
	defaultCapacity = 65536
	defaultPatience = int64(3 * time.Millisecond)
	defaultStall    = int64(time.Millisecond)
)

// Seen has the circumstances of a packet that its octets lack.
type Seen struct {
	Time  int64           // ns, or flow.NoTime
	Point uint32          // where it passes; see Key
	SrcQP uint32          // its source queue pair
	From  flow.Provenance // origin of the source queue pair; flow.None: unknown
	// Slot: of its flow in a flow.Table, to find it fast; -1: not known
	Slot int

	// Part means that only some packets of the direction come, as in a sample:
	// gaps between them are no fault of the network, so PSNs are left out.
	Part bool

	In, Out uint64 // ports, as the caller numbers them; 0: unknown
}

// Table is the directions of connections that pass. It takes about 0.2 kB for each, and more where
// requests wait for acknowledgements, packets are lost, or sizes or times differ.
type Table struct {
	config  Config
	store   store
	by      map[ends]uint32 // seats
	slots   []uint32        // seats by flow; 0: unknown
	hand    uint32          // number of the seat that was looked at last
	changes uint32          // how many directions came
	burst   burst
	shown   [2]Direction // the one that was asked for last, and its peer

	unfollowed uint64
}

// NewTable makes an empty table.
func NewTable(c Config) *Table {
	if c.Capacity <= 0 {
		c.Capacity = defaultCapacity
	}
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	if c.Stall <= 0 {
		c.Stall = defaultStall
	}
	reserved := 0
	if c.Reserve > 0 {
		reserved = c.Capacity
	}
	return &Table{config: c, store: newStore(reserved), by: make(map[ends]uint32, reserved), slots: make([]uint32, max(0, c.Reserve))}
}

// Unfollowed returns how many packets belonged to directions that were refused. It is a
// total since NewTable.
func (t *Table) Unfollowed() uint64 { return t.unfollowed }

// Follows reports whether the flow in a slot of the flow.Table is likely
// followed: the slot may belong to another flow by now.
func (t *Table) Follows(slot int) bool { return slot < len(t.slots) && t.slots[slot] != 0 }

// Len returns how many directions are in the table.
func (t *Table) Len() int { return t.store.states.used() }

// At returns the i-th direction, from 0 on; nil after the last one. A place keeps its
// number; once the table is full it can get another direction between two calls.
func (t *Table) At(i int) *Direction {
	if i >= t.store.states.used() {
		return nil
	}
	return t.show(t.store.at(uint32(i)+1), &t.shown[0])
}

// show fills in a direction.
func (t *Table) show(s seat, d *Direction) *Direction {
	r, k, ports := t.store.routes.at(s.state.route), s.key(), t.store.ports.at(s.state.ports)
	d.Key = Key{Point: r.point, Src: r.src, Dst: r.dst, DestQP: k.destQP, SrcQP: k.source}
	d.Counters = s.counters()
	d.Source, d.From, d.In, d.Out = s.state.source, s.state.flags.from(), ports.in, ports.out
	d.First, d.Last, d.Label, d.SrcPort = s.birth().first, s.state.last, s.state.label, s.state.srcPort
	d.of, d.seat, d.end, d.data = t, s, d.Last, s.dataSpan()
	if r := t.store.rests.get(s.state.rest); r != nil && r.latest != 0 {
		d.end = max(d.Last, r.latest)
	}
	return d
}

// Observe judges a packet, and returns the meaning of its PSN: with Gap, how many
// PSNs are missing.
func (t *Table) Observe(p *roce.Packet, seen Seen) (e Event, missing uint32) {
	return t.observe(p, &seen, 0)
}

// observe is Observe of a packet whose direction may have a seat; 0: that is unknown.
func (t *Table) observe(p *roce.Packet, seen *Seen, maybe uint32) (e Event, missing uint32) {
	s := t.find(p, seen, maybe)
	if s.state == nil {
		t.unfollowed++
		return InOrder, 0
	}
	d, op := s.state, p.Opcode()
	service := op.Service()
	part := seen.Part || endless(p, op)
	same := d.source == seen.SrcQP && d.checked == t.changes
	d.source = seen.SrcQP
	d.flags.setFrom(seen.From)
	if p := (portPair{seen.In, seen.Out}); t.store.ports.at(d.ports).portPair != p {
		t.store.ports.set(&d.ports, p)
	}
	if !same {
		d.checked = 0
		if seen.From != flow.None && service != roce.ServiceUD {
			t.join(s)
		}
	}
	connected := service == roce.ServiceRC || service == roce.ServiceUC || service == roce.ServiceXRC
	if connected && op.Known() && !part && !t.config.Untimed {
		s.stall(seen.Time, t.config.Stall)
	}
	last := d.last
	s.count(p, seen.Time)
	if d.flags.has(parted) && !part {
		d.flags.put(parted, false)
		s.rest().Resumed++
	}
	switch {
	case op == roce.CNP:
		s.rest().CNPs++
	case !op.Known():
	case part:
		s.part(p, op)
	case service == roce.ServiceUD:
		octets := uint32(max(0, p.PayloadLen()))
		s.useful(octets, seen.Time)
		s.sized(uint64(octets))
	case !connected:
	case op.IsResponse():
		return s.response(p, seen.Time, &t.config)
	default:
		if !same {
			s.peer() // forgets a former peer
		}
		return s.request(p, seen.Time, last, &t.config)
	}
	return InOrder, 0
}

// endless reports whether a packet is a read request without its length, which the capture
// cut: how many PSNs it takes is unknown.
func endless(p *roce.Packet, op roce.Opcode) bool {
	if op&operationMask != roce.RCReadRequest || !op.Known() {
		return false
	}
	_, whole := p.RETH()
	return !whole
}

// join finds the other direction of a connection.
func (t *Table) join(s seat) {
	d := s.state
	d.checked = t.changes
	if s.peer().state != nil {
		return
	}
	back := t.store.routes.at(d.route).reverse
	if back == 0 {
		return
	}
	d.peer = t.by[ends{route: back, destQP: d.source}]
	if d.peer == 0 {
		return
	}
	// what came until now may have been answers
	if r := t.store.rests.get(d.rest); d.traffic.packets > 0 || r != nil && r.Packets > 0 {
		until := d.last
		t.store.at(d.peer).state.waits.drop(&t.store.pendings, func(_ uint32, sent int64) bool { return sent <= until })
	}
}

// find returns the seat of a packet's direction, which it adds if it is new; without a state: the table
// is full.
func (t *Table) find(p *roce.Packet, seen *Seen, maybe uint32) seat {
	source := uint32(0)
	if p.Opcode().Service() == roce.ServiceUD {
		source = seen.SrcQP
	}
	if maybe != 0 && t.is(t.store.states.at(maybe), p, seen.Point, source) {
		return t.store.at(maybe)
	}
	slot := seen.Slot
	if slot >= len(t.slots) {
		t.slots = append(t.slots, make([]uint32, slot+1-len(t.slots))...)
	}
	if slot >= 0 && t.slots[slot] != 0 {
		if n := t.slots[slot]; t.is(t.store.states.at(n), p, seen.Point, source) {
			return t.store.at(n)
		}
	}
	r := route{seen.Point, p.Src16(), p.Dst16()}
	number := uint32(0)
	if n := t.store.routes.by[r]; n != 0 {
		number = t.by[ends{n, p.DestQP(), source}]
	}
	if number == 0 {
		number = t.insert(r, p.DestQP(), source, seen.Time)
	}
	if slot >= 0 {
		t.slots[slot] = number
	}
	if number == 0 {
		return seat{}
	}
	return t.store.at(number)
}

// is reports whether a packet at a point, from a queue pair if it is a datagram, is of a direction.
func (t *Table) is(d *state, p *roce.Packet, point, source uint32) bool {
	if d.destQP != p.DestQP() || d.flags.has(datagrams) != (source != 0) || source != 0 && source != d.source {
		return false
	}
	r := t.store.routes.at(d.route)
	return r.point == point && r.dst == p.Dst16() && r.src == p.Src16()
}

// insert adds a direction in a free seat, or in that of the oldest one, and returns its number; 0 where
// that one had a packet within Keep.
func (t *Table) insert(r route, destQP, source uint32, now int64) uint32 {
	var s seat
	if t.store.states.used() < t.config.Capacity {
		t.store.births.take()
		s = t.store.at(t.store.states.take())
	} else {
		var last int64
		if s, last = t.oldest(now); t.config.Keep > 0 && last > now-t.config.Keep {
			return 0
		}
		if t.config.Removed != nil {
			t.config.Removed(t.show(s, &t.shown[0]))
		}
		delete(t.by, s.key())
		s.leave()
	}
	e := ends{t.store.routes.acquire(r), destQP, source}
	s.occupy(e)
	t.by[e] = s.number
	t.changes++
	return s.number
}

// evictionSample is how many directions an eviction looks at.
const evictionSample = 8

// oldest returns the direction whose last packet is the oldest of evictionSample
// directions, and the time of that packet; the next call goes on after them. With
// [Config.Keep], a packet that is more than that ahead of now came before the clock was set
// back, and is older than any other: flow.NoTime.
func (t *Table) oldest(now int64) (victim seat, last int64) {
	n := uint32(t.store.states.used())
	for range evictionSample {
		one := t.store.at(t.hand%n + 1)
		at := one.state.last
		if t.config.Keep > 0 && at-now > t.config.Keep {
			at = flow.NoTime
		}
		if victim.state == nil || at < last {
			victim, last = one, at
		}
		t.hand = (t.hand + 1) % n
	}
	return victim, last
}

// All iterates over the directions by their places: in the order in which they began,
// until the table is full and places are used again. Each is valid until the next one.
func (t *Table) All() iter.Seq[*Direction] {
	return func(yield func(*Direction) bool) {
		for i := 0; ; i++ {
			if d := t.At(i); d == nil || !yield(d) {
				return
			}
		}
	}
}
