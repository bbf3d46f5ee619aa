// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"iter"
	"math"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Flow is the table's record of one flow. A pointer to it is valid until the
// table's next Observe or Expire.
type Flow struct {
	Key
	First, Last    int64  // earliest and latest time of its packets, ns; NoTime: none has one
	Packets, Bytes uint64 // Bytes of IP packets, from the outermost header on

	label uint32 // pinned; 0: still to come
	pair  uint32 // number in Table.pairs; noPair for datagrams
	// settled: the learner's generation in which the source QP was known; 0: never
	settled uint32
	number  uint32 // place in Table.flows + 1, or 0
}

// NoTime is the time of a packet that was captured without one.
const NoTime = math.MinInt64

// none and noPair are numbers of slots that a table never has.
const none, noPair = ^uint32(0), ^uint32(0)

// Slot returns the flow's place in its table: a number below the table's capacity
// that is the flow's alone until it leaves. Callers can keep values of a flow in
// a slice beside the table.
func (f *Flow) Slot() int { return int(f.number) - 1 }

// Reason is the reason why a flow left the table.
type Reason uint8

// Reasons for a flow to leave the table.
const (
	Idle    Reason = iota // silent for the idle time
	Evicted               // the table was full
)

// Config of a [Table].
type Config struct {
	Capacity int                 // flows; 0: 65,536
	Removed  func(*Flow, Reason) // called before a flow leaves; may be nil

	// Growing: the indexes begin small, and grow as flows come, which takes time in between. It is for a table
	// that has more room than flows are likely, where the caches hold small indexes.
	Growing bool

	// Learned is called when the source queue pair of a connection becomes known;
	// nil: it is not called.
	Learned func(src, dst netip.Addr, destQP, srcQP uint32)
}

// defaultCapacity is the number of flows of a table by default.
const defaultCapacity = 65536

// Stats counts the events of a table.
type Stats struct {
	Created, Idle, Evicted uint64 // flows
	// LearnedCM and LearnedAck: connection directions whose source QP became known
	LearnedCM, LearnedAck uint64
	// Withdrawn: of those by Ack, taken back because answers contradicted
	Withdrawn uint64
	// Ambiguous: answers that fit several connections, or none for sure
	Ambiguous uint64
	// CMWithoutReq and CMExpired: REPs whose REQ was not seen, or too long ago
	CMWithoutReq, CMExpired uint64
}

// Table is a bounded table of flows. It belongs to one goroutine.
type Table struct {
	config Config
	secret secret
	stats  Stats

	flows  []Flow
	index  index
	free   []uint32
	used   uint32 // flows[used:] are unused
	cursor uint32 // where Expire goes on
	hand   uint32 // where eviction looks next
	burst  burst

	learner
}

// leastIndex is how many flows a growing index has room for at first.
const leastIndex = 1 << 10

// NewTable returns an empty table. Its memory is reserved at once and does not
// grow, but for [Config.Growing]: about 265 octets a flow.
func NewTable(c Config) *Table {
	if c.Capacity <= 0 {
		c.Capacity = defaultCapacity
	}
	t := &Table{config: c, secret: newSecret(), flows: make([]Flow, c.Capacity), free: make([]uint32, 0, c.Capacity)}
	t.learner = newLearner(c.Capacity, &t.secret, &t.stats)
	if t.index, t.learner.index = newIndex(c.Capacity), newIndex(len(t.pairs)); c.Growing {
		t.index, t.learner.index = newIndex(leastIndex), newIndex(leastIndex)
	}
	t.heads = make([]uint32, len(t.learner.index.slots))
	t.learned = c.Learned
	return t
}

// Observe accounts for a packet at time now (ns, or NoTime), learns from it, and returns
// its flow.
func (t *Table) Observe(p *roce.Packet, now int64) *Flow {
	k := KeyOf(p)
	return t.observe(p, &k, t.secret.key(&k), none, now)
}

// observe is Observe of a packet whose flow may be the one of number maybe; none:
// the flow has to be looked up.
//
//conformance:draft-hu/qp-pair
func (t *Table) observe(p *roce.Packet, k *Key, hash, maybe uint32, now int64) *Flow {
	var f *Flow
	if maybe != none && t.flows[maybe].number != 0 && t.flows[maybe].Key == *k {
		f = &t.flows[maybe]
	} else if f = t.lookup(k, hash); f == nil {
		f = t.insert(k, hash, now, p.Opcode().Service() == roce.ServiceUD)
	}
	f.Last = max(f.Last, now) // also NoTime is before
	if f.First > now && now != NoTime || f.First == NoTime {
		f.First = now
	}
	f.Packets++
	f.Bytes += uint64(p.Len())
	switch {
	case f.pair != noPair:
		f.settled = t.connected(p, k, f.pair, f.settled)
	case k.DestQP == 1:
		if m, ok := p.CM(); ok {
			t.cm(k, m, now)
		}
	}
	return f
}

// lookup returns the flow of a key and its hash; nil: the key is new.
func (t *Table) lookup(k *Key, hash uint32) *Flow {
	for i := hash & t.index.mask; ; i = (i + 1) & t.index.mask {
		s := t.index.slots[i]
		if s.entry == 0 {
			return nil
		}
		if s.hash == hash {
			if f := &t.flows[s.entry-1]; f.Key == *k {
				return f
			}
		}
	}
}

// insert adds a flow; in a full table it evicts one first.
func (t *Table) insert(k *Key, hash uint32, now int64, datagram bool) *Flow {
	if len(t.free) == 0 && t.used == uint32(len(t.flows)) {
		t.evict()
	}
	var n uint32
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		n = t.used
		t.used++
	}
	f := &t.flows[n]
	*f = Flow{Key: *k, First: now, Last: now, pair: noPair, number: n + 1}
	if !datagram {
		f.pair = t.acquire(k)
	}
	if t.index.lacks(t.Len()) {
		t.index.grow()
	}
	t.index.put(hash, n)
	t.stats.Created++
	return f
}

// evictionSample is how many flows an eviction looks at: the one of them that
// was idle longest goes.
const evictionSample = 8

// evict removes the flow, of evictionSample, that was idle longest.
func (t *Table) evict() {
	victim := t.hand
	for range evictionSample {
		if t.flows[t.hand].Last < t.flows[victim].Last {
			victim = t.hand
		}
		t.hand = (t.hand + 1) % uint32(len(t.flows))
	}
	t.stats.Evicted++
	t.remove(victim, Evicted)
}

// remove frees a flow's place and reports it to Config.Removed.
func (t *Table) remove(n uint32, why Reason) {
	f := &t.flows[n]
	if t.config.Removed != nil {
		t.config.Removed(f, why)
	}
	t.index.remove(t.secret.key(&f.Key), n)
	if f.pair != noPair {
		t.release(f.pair)
	}
	f.number = 0
	t.free = append(t.free, n)
}

// Expire removes flows that were idle for idle (ns). It reads at most budget
// flows and continues after them at the next call.
func (t *Table) Expire(now, idle int64, budget int) {
	for range min(budget, int(t.used)) {
		if t.cursor >= t.used {
			t.cursor = 0
		}
		switch f := &t.flows[t.cursor]; {
		case f.number == 0:
		case f.Last > now: // the clock was set back
			f.Last = now
		case now-f.Last >= idle:
			t.stats.Idle++
			t.remove(t.cursor, Idle)
		}
		t.cursor++
	}
}

// Label returns the flow label that the flow gets. It is computed at the first
// call, with the source queue pair that is known by then, and stays: another
// label would send the flow over another path, and reorder it.
func (t *Table) Label(f *Flow, a Algorithm) uint32 {
	if f.label == 0 {
		qp, _ := t.SrcQP(f)
		f.label = f.Label(a, qp)
	}
	return f.label
}

// SrcQP returns the flow's source queue pair and its source; 0 and None while it
// is unknown.
func (t *Table) SrcQP(f *Flow) (uint32, Provenance) {
	if f.pair == noPair {
		return f.SrcQP, DETH
	}
	return t.ends[f.pair].srcQP, t.pairs[f.pair].from
}

// All iterates over the flows, in any order. A flow that is removed meanwhile is left
// out, and one that is added may be.
func (t *Table) All() iter.Seq[*Flow] {
	return func(yield func(*Flow) bool) {
		for i := range t.flows[:t.used] {
			if t.flows[i].number != 0 && !yield(&t.flows[i]) {
				return
			}
		}
	}
}

// Len is the number of flows in the table. It is at most Config.Capacity.
func (t *Table) Len() int { return int(t.used) - len(t.free) }

// Stats returns the counts so far. It is a copy, for the goroutine of the table.
func (t *Table) Stats() Stats { return t.stats }
