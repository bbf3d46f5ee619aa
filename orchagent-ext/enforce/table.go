// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"container/heap"
	"iter"
	"slices"
)

// A Target is a flow that a demand is about.
type Target[F comparable] struct {
	Flow F
	Rate uint64 // bit/s, as measured now; what a reduction is of, where the flow is not held yet
}

// A Change is what is to be done to a flow on the switch from now on.
type Change[F comparable] struct {
	Flow F
	Hold Hold // the zero value: the flow goes on freely
}

// Hold is what is done to a flow. The switch may end it by itself at Until.
type Hold struct {
	Keep  uint8  // percent of the flow's rate; 0 in a hold: pause
	Rate  uint64 // bit/s that pass; 0 in a hold: nothing does
	Until int64  // time (ns); 0: no hold
}

// Outcome is what became of a demand.
type Outcome uint8

// The outcomes.
const (
	Told      Outcome = iota // it asks for nothing
	Held                     // it holds now
	Refreshed                // it replaced one with its key
	Ended                    // it ended one with its key
	Unknown                  // it ends or extends nothing: there is none with its key, or no flow
	Full                     // the table has no room for it
)

// Label is the outcome as one lower-case word, for counters.
func (o Outcome) Label() string {
	return [...]string{"told", "held", "refreshed", "ended", "unknown", "full"}[o]
}

// MinRate is the least rate that a reduction leaves, in bit/s. A flow that was not
// measured yet would stop otherwise, though nobody asked for that.
const MinRate = 1_000_000

// InForce is a demand that holds.
type InForce struct {
	Key
	Keep      uint8 // as in [Demand]
	Since     int64 // time (ns) when a demand with the key first came
	Until     int64 // time (ns) when it ends unless refreshed
	Refreshes uint64
	Flows     int // that it is about
}

// Table is what was asked. A flow that several demands are about is held by the
// strictest, then by the strictest of those that remain, until each has ended. It
// belongs to one goroutine.
type Table[F comparable] struct {
	room    int // for flows of demands: one flow under two demands counts twice
	used    int
	demands map[Key]*demand[F]
	flows   map[F]*held[F]
	ends    queue[F]
}

type demand[F comparable] struct {
	InForce
	flows []F
	place int // in the queue
}

type held[F comparable] struct {
	rate uint64 // when the hold began
	by   []*demand[F]
	hold Hold
}

// NewTable returns an empty table with room for so many flows of demands, all demands
// together: a flow that two of them are about counts twice.
func NewTable[F comparable](room int) *Table[F] {
	return &Table[F]{room: room, demands: map[Key]*demand[F]{}, flows: map[F]*held[F]{}}
}

// Receive takes a demand at time now (ns) about the flows that are known to belong to
// it, and appends what is to be done to changes. What does not fit is refused whole
// and changes nothing.
func (t *Table[F]) Receive(changes []Change[F], now int64, k Key, d Demand, flows []Target[F]) ([]Change[F], Outcome) {
	old := t.demands[k]
	switch d.Verb {
	case Tell:
		return changes, Told
	case End:
		if old == nil {
			return changes, Unknown
		}
		return t.remove(changes, now, old), Ended
	case Extend:
		d.Keep = 100
		if old != nil {
			d.Keep = old.Keep
		}
	}
	if old == nil && len(flows) == 0 {
		return changes, Unknown
	}
	if t.used+t.additions(old, flows) > t.room {
		return changes, Full
	}
	outcome := Refreshed
	if old == nil {
		outcome = Held
		old = &demand[F]{InForce: InForce{Key: k, Since: now}}
		t.demands[k] = old
		heap.Push(&t.ends, old)
	} else {
		old.Refreshes++
	}
	old.Keep, old.Until = d.Keep, now+int64(d.For)
	heap.Fix(&t.ends, old.place)
	for _, f := range flows {
		t.join(old, f)
	}
	for _, f := range old.flows {
		changes = t.settle(changes, now, f)
	}
	return changes, outcome
}

// Join adds a flow to a demand that holds, such as one that was seen only after it, and
// appends what is to be done. It reports false, and does nothing, where there is no such
// demand or no room.
func (t *Table[F]) Join(changes []Change[F], now int64, k Key, f Target[F]) ([]Change[F], bool) {
	d := t.demands[k]
	if d == nil || t.used+t.additions(d, []Target[F]{f}) > t.room {
		return changes, false
	}
	t.join(d, f)
	return t.settle(changes, now, f.Flow), true
}

// Leave takes a flow out that is no more, and appends what is to be done on the switch.
func (t *Table[F]) Leave(changes []Change[F], now int64, f F) []Change[F] {
	h := t.flows[f]
	if h == nil {
		return changes
	}
	for _, d := range h.by {
		d.flows = slices.DeleteFunc(d.flows, func(o F) bool { return o == f })
		if len(d.flows) == 0 {
			t.forget(d)
		}
	}
	t.used -= len(h.by)
	h.by = nil
	return t.settle(changes, now, f)
}

// Expire ends what is over at time now (ns) and appends what is to be done.
func (t *Table[F]) Expire(changes []Change[F], now int64) []Change[F] {
	for len(t.ends) > 0 && t.ends[0].Until <= now {
		changes = t.remove(changes, now, t.ends[0])
	}
	return changes
}

// Clear ends everything and appends what is to be done.
func (t *Table[F]) Clear(changes []Change[F], now int64) []Change[F] {
	for len(t.ends) > 0 {
		changes = t.remove(changes, now, t.ends[0])
	}
	return changes
}

// Next returns when Expire is to be called; there is no need to while nothing holds.
func (t *Table[F]) Next() (at int64, ok bool) {
	if len(t.ends) == 0 {
		return 0, false
	}
	return t.ends[0].Until, true
}

// Hold returns what is done to a flow, the zero value if nothing is.
func (t *Table[F]) Hold(f F) Hold {
	if h := t.flows[f]; h != nil {
		return h.hold
	}
	return Hold{}
}

// All iterates over the demands that hold, in no order.
func (t *Table[F]) All() iter.Seq[InForce] {
	return func(yield func(InForce) bool) {
		for _, d := range t.ends {
			d.Flows = len(d.flows)
			if !yield(d.InForce) {
				return
			}
		}
	}
}

// additions returns how many of the flows are not under the demand yet.
func (t *Table[F]) additions(d *demand[F], flows []Target[F]) (n int) {
	for _, f := range flows {
		if !t.under(d, f.Flow) {
			n++
		}
	}
	return n
}

func (t *Table[F]) under(d *demand[F], f F) bool {
	h := t.flows[f]
	return h != nil && slices.Contains(h.by, d)
}

func (t *Table[F]) join(d *demand[F], f Target[F]) {
	if t.under(d, f.Flow) {
		return
	}
	h := t.flows[f.Flow]
	if h == nil {
		h = &held[F]{rate: f.Rate}
		t.flows[f.Flow] = h
	}
	h.by = append(h.by, d)
	d.flows = append(d.flows, f.Flow)
	t.used++
}

// remove ends a demand.
func (t *Table[F]) remove(changes []Change[F], now int64, d *demand[F]) []Change[F] {
	t.forget(d)
	t.used -= len(d.flows)
	for _, f := range d.flows {
		h := t.flows[f]
		h.by = slices.DeleteFunc(h.by, func(o *demand[F]) bool { return o == d })
		changes = t.settle(changes, now, f)
	}
	return changes
}

func (t *Table[F]) forget(d *demand[F]) {
	delete(t.demands, d.Key)
	heap.Remove(&t.ends, d.place)
}

// settle works out what is done to a flow and appends it if it is something new.
func (t *Table[F]) settle(changes []Change[F], now int64, f F) []Change[F] {
	h := t.flows[f]
	hold := Hold{}
	for _, d := range h.by {
		if d.Until <= now {
			continue // Expire comes to it
		}
		if hold.Until == 0 || d.Keep < hold.Keep || d.Keep == hold.Keep && d.Until > hold.Until {
			hold = Hold{Keep: d.Keep, Until: d.Until}
		}
	}
	if hold.Keep > 0 {
		hold.Rate = max(h.rate*uint64(hold.Keep)/100, MinRate)
	}
	if len(h.by) == 0 {
		delete(t.flows, f)
	}
	if hold != h.hold {
		h.hold = hold
		changes = append(changes, Change[F]{f, hold})
	}
	return changes
}
