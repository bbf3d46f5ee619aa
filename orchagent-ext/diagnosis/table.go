// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"iter"
	"time"

	"sluice/orchagent-ext/roce"
)

// Config of a [Table]. Zero fields have defaults.
type Config struct {
	Capacity int   // directions; 0: 65,536. Behind that the one that was idle longest of a few leaves
	Patience int64 // ns after which what was missing was sent again; 0: 3 ms, as Wireshark has it for TCP
	Stall    int64 // ns of a pause that counts as a stall; 0: 1 ms

	Removed func(*Direction) // called before a direction leaves; may be nil
}

const (
	defaultCapacity = 65536
	defaultPatience = int64(3 * time.Millisecond)
	defaultStall    = int64(time.Millisecond)
)

// Seen is what is known of a packet beside what is in it.
type Seen struct {
	Time  int64  // ns
	Point uint32 // where it passes; see Key
	SrcQP uint32 // its source queue pair
	Known bool   // that is known
	Slot  int    // of its flow in a flow.Table, to find it fast; -1: not known
}

// Table is the directions of connections that pass. It takes about 1.3 kB for each, and 1.1
// kB more where times, or messages, are seen.
type Table struct {
	config Config
	by     map[Key]*Direction
	all    []*Direction
	slots  []*Direction // by flow
	hand   int
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
	return &Table{config: c, by: map[Key]*Direction{}}
}

// Observe judges a packet, and returns what its PSN says: with Gap how many are missing.
func (t *Table) Observe(p *roce.Packet, s Seen) (e Event, missing uint32) {
	k := Key{Point: s.Point, Src: p.Src16(), Dst: p.Dst16(), DestQP: p.DestQP()}
	op := p.Opcode()
	service := op.Service()
	if service == roce.ServiceUD {
		k.SrcQP = s.SrcQP
	}
	d := t.find(k, s.Slot)
	if s.Known && service != roce.ServiceUD && (d.Peer() == nil || d.peer.DestQP != s.SrcQP) {
		d.peer = t.by[Key{Point: s.Point, Src: k.Dst, Dst: k.Src, DestQP: s.SrcQP}]
		if d.peer != nil && d.Packets > 0 { // what came until now may have been answers
			d.peer.forgetUntil(d.Last)
		}
	}
	connected := service == roce.ServiceRC || service == roce.ServiceUC || service == roce.ServiceXRC
	if connected && op.Known() {
		d.stall(s.Time, t.config.Stall)
	}
	d.count(p, s.Time)
	d.Source, d.Known = s.SrcQP, s.Known
	switch {
	case op == roce.CNP:
		d.CNPs++
	case !op.Known():
	case service == roce.ServiceUD:
		octets := uint32(max(0, p.PayloadLen()))
		d.useful(octets, s.Time)
		d.sized(uint64(octets))
	case !connected:
	case op.IsResponse():
		return d.response(p, s.Time, &t.config)
	default:
		return d.request(p, s.Time, &t.config)
	}
	return InOrder, 0
}

// find returns the direction, a new one if there is none.
func (t *Table) find(k Key, slot int) *Direction {
	if slot >= len(t.slots) {
		t.slots = append(t.slots, make([]*Direction, slot+1-len(t.slots))...)
	}
	if slot >= 0 {
		if d := t.slots[slot]; d != nil && d.Key == k && d.number >= 0 {
			return d
		}
	}
	d := t.by[k]
	if d == nil {
		d = &Direction{Key: k}
		t.insert(d)
	}
	if slot >= 0 {
		t.slots[slot] = d
	}
	return d
}

func (t *Table) insert(d *Direction) {
	if len(t.all) < t.config.Capacity {
		d.number = len(t.all)
		t.all = append(t.all, d)
	} else {
		old := t.oldest()
		if t.config.Removed != nil {
			t.config.Removed(old)
		}
		delete(t.by, old.Key)
		d.number, old.number = old.number, -1
		t.all[d.number] = d
	}
	t.by[d.Key] = d
}

// evictionSample is how many directions an eviction looks at.
const evictionSample = 8

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

// All iterates over the directions, in the order in which they began, as far as none left.
func (t *Table) All() iter.Seq[*Direction] {
	return func(yield func(*Direction) bool) {
		for _, d := range t.all {
			if !yield(d) {
				return
			}
		}
	}
}
