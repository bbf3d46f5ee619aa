// SPDX-License-Identifier: Apache-2.0

package health

import (
	"iter"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
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

	// Reserve makes the table take its memory at once, for flows of a flow.Table of so many
	// slots: it allocates nothing later. 0: memory comes as it is needed.
	Reserve int

	// Untimed means that packets have the time when they were read instead of
	// when they came: times to an acknowledgement and stalls are left out.
	Untimed bool

	Removed func(*Direction) // called before a direction leaves; may be nil
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

// Table is the directions of connections that pass. It takes about 1.3 kB for each, and 1.1
// kB more where times, or messages, are seen.
type Table struct {
	config  Config
	by      map[Key]*Direction
	all     []*Direction
	slots   []*Direction // by flow
	hand    int
	changes uint32 // how many directions came
	burst   burst

	free       []Direction        // memory for directions to come
	rests      []rest             // theirs
	sizes      []histogram.Coarse // theirs; nil: each is made when it is needed
	unfollowed uint64
}

// chunk is for how many directions memory is taken at once.
const chunk = 64

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
	t := &Table{config: c, by: map[Key]*Direction{}}
	if c.Reserve > 0 {
		t.by = make(map[Key]*Direction, c.Capacity)
		t.all = make([]*Direction, 0, c.Capacity)
		t.slots = make([]*Direction, c.Reserve)
		t.reserve(c.Capacity)
		t.sizes = make([]histogram.Coarse, c.Capacity)
	}
	return t
}

// Unfollowed returns how many packets belonged to directions that were refused. It is a
// total since NewTable.
func (t *Table) Unfollowed() uint64 { return t.unfollowed }

// Follows reports whether the flow in a slot of the flow.Table is likely
// followed: the slot may belong to another flow by now.
func (t *Table) Follows(slot int) bool { return slot < len(t.slots) && t.slots[slot] != nil }

// At returns the i-th direction, from 0 on; nil after the last one. A place keeps its
// number; once the table is full it can get another direction between two calls.
func (t *Table) At(i int) *Direction {
	if i >= len(t.all) {
		return nil
	}
	return t.all[i]
}

// Observe judges a packet, and returns the meaning of its PSN: with Gap, how many
// PSNs are missing.
func (t *Table) Observe(p *roce.Packet, s Seen) (e Event, missing uint32) {
	var k Key
	k.set(p, &s)
	return t.observe(p, &k, &s)
}

// set fills the key of a packet's direction.
func (k *Key) set(p *roce.Packet, s *Seen) {
	*k = Key{Point: s.Point, Src: p.Src16(), Dst: p.Dst16(), DestQP: p.DestQP()}
	if p.Opcode().Service() == roce.ServiceUD {
		k.SrcQP = s.SrcQP
	}
}

// observe is Observe with the packet's key.
func (t *Table) observe(p *roce.Packet, k *Key, s *Seen) (e Event, missing uint32) {
	d := t.find(k, s.Slot, s.Time)
	if d == nil {
		t.unfollowed++
		return InOrder, 0
	}
	op := p.Opcode()
	service := op.Service()
	part := s.Part || endless(p, op)
	same := d.Source == s.SrcQP && d.checked == t.changes
	d.Source, d.From, d.In, d.Out = s.SrcQP, s.From, s.In, s.Out
	if !same {
		d.checked = 0
		if s.From != flow.None && service != roce.ServiceUD {
			t.join(d)
		}
	}
	connected := service == roce.ServiceRC || service == roce.ServiceUC || service == roce.ServiceXRC
	if connected && op.Known() && !part && !t.config.Untimed {
		d.stall(s.Time, t.config.Stall)
	}
	last := d.Last
	d.count(p, s.Time)
	if d.parted && !part {
		d.parted = false
		d.Resumed++
	}
	switch {
	case op == roce.CNP:
		d.CNPs++
	case !op.Known():
	case part:
		d.part(p, op)
	case service == roce.ServiceUD:
		octets := uint32(max(0, p.PayloadLen()))
		d.useful(octets, s.Time)
		d.sized(uint64(octets))
	case !connected:
	case op.IsResponse():
		return d.response(p, s.Time, &t.config)
	default:
		if !same {
			d.Peer() // forgets a former peer
		}
		return d.request(p, s.Time, last, &t.config)
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
func (t *Table) join(d *Direction) {
	d.checked = t.changes
	if d.Peer() != nil {
		return
	}
	d.peer = t.by[Key{Point: d.Point, Src: d.Dst, Dst: d.Src, DestQP: d.Source}]
	// what came until now may have been answers
	if d.peer != nil && d.Packets > 0 {
		d.peer.forgetUntil(d.Last)
	}
}

// find returns the direction, which it adds if it is new; nil: the table is full.
func (t *Table) find(k *Key, slot int, now int64) *Direction {
	if slot >= len(t.slots) {
		t.slots = append(t.slots, make([]*Direction, slot+1-len(t.slots))...)
	}
	if slot >= 0 {
		if d := t.slots[slot]; d != nil && d.Key == *k {
			return d
		}
	}
	d := t.by[*k]
	if d == nil {
		d = t.insert(k, now) // nil where the table is full
	}
	if slot >= 0 {
		t.slots[slot] = d
	}
	return d
}

// insert adds a direction in a free place, or in that of the oldest one; nil where
// that one had a packet within Keep.
func (t *Table) insert(k *Key, now int64) *Direction {
	var d *Direction
	if len(t.all) < t.config.Capacity {
		d = t.take()
		t.all = append(t.all, d)
	} else {
		d = t.oldest()
		if t.config.Keep > 0 && now-d.Last < t.config.Keep {
			return nil
		}
		if t.config.Removed != nil {
			t.config.Removed(d)
		}
		delete(t.by, d.Key)
		*d.rest = rest{}
		*d = Direction{
			rest: d.rest, sizes: d.sizes,
			requests: sequence{holes: d.requests.holes}, responses: sequence{holes: d.responses.holes},
		}
		if d.sizes != nil {
			*d.sizes = histogram.Coarse{}
		}
	}
	d.Key = *k
	t.by[*k] = d
	t.changes++
	return d
}

// reserve takes memory for n directions. The kernel backs pages only when they
// are touched.
func (t *Table) reserve(n int) {
	t.free, t.rests = make([]Direction, n), make([]rest, n)
}

// take returns memory for a direction.
func (t *Table) take() *Direction {
	if len(t.free) == 0 {
		t.reserve(chunk)
	}
	d, r := &t.free[0], &t.rests[0]
	t.free, t.rests = t.free[1:], t.rests[1:]
	d.rest, d.requests.holes, d.responses.holes = r, &r.holes[0], &r.holes[1]
	if t.sizes != nil {
		d.sizes = &t.sizes[0]
		t.sizes = t.sizes[1:]
	}
	return d
}

// evictionSample is how many directions an eviction looks at.
const evictionSample = 8

// oldest returns the direction whose last packet is the oldest of evictionSample
// directions; the next call goes on after them.
func (t *Table) oldest() *Direction {
	victim := t.all[t.hand]
	for range evictionSample {
		if t.all[t.hand].Last < victim.Last {
			victim = t.all[t.hand]
		}
		t.hand = (t.hand + 1) % len(t.all)
	}
	return victim
}

// All iterates over the directions by their places: in the order in which they began,
// until the table is full and places are used again.
func (t *Table) All() iter.Seq[*Direction] {
	return func(yield func(*Direction) bool) {
		for _, d := range t.all {
			if !yield(d) {
				return
			}
		}
	}
}
