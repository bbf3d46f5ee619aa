// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"iter"
	"slices"
	"time"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/notify"
)

// A Target is a flow that a demand is about.
type Target[F comparable] struct {
	Flow F
	Rate uint64 // bit/s, as measured now: what a reduction is of, where the flow is not held yet; 0: not measured

	// Share is the flow's fair share in bit/s, of which a reduction is until the rate is measured; 0:
	// the flow goes on freely until then.
	Share uint64
}

// A Change is the hold of a flow on the switch from now on.
type Change[F comparable] struct {
	Flow F
	Hold Hold // the zero value: the flow goes on freely
}

// Hold is the treatment of a flow: its rate, and until when. The switch may end it by
// itself at Until.
type Hold struct {
	Keep uint8 // percent of the flow's rate; 0 in a hold: pause
	// its rate is for [Table.Measured]; the flow has Rate until then, or goes on freely where that is 0
	Measure bool
	Rate    uint64 // bit/s that pass; 0 in a hold without Measure: nothing does
	Until   int64  // time (ns); 0: no hold
}

// Outcome is the result of a demand.
type Outcome uint8

// The outcomes.
const (
	Noted     Outcome = iota // it asks for nothing
	Held                     // it holds now
	Refreshed                // it replaced one with its key
	Ended                    // it ended one with its key
	Unknown                  // it ends or extends nothing: there is none with its key, or no flow
	Full                     // the table has lack of room for it
	Ignored                  // its key held a flow for too long without a resume, and waits

	// NumOutcomes is how many there are.
	NumOutcomes = iota
)

// MinRate is the least rate that a reduction leaves, in bit/s: a percentage of a slow
// flow's rate would otherwise stop it.
const MinRate = 1_000_000

// InForce is a demand that holds.
type InForce struct {
	Key
	Keep      uint8 // as in [Demand]
	Since     int64 // time (ns) when a demand with the key first came
	Until     int64 // time (ns) when it ends unless refreshed
	Refreshes uint64
	Flows     int  // that it is about
	Ignored   bool // it was released by the limit, and its key is ignored until Until
}

// Table has the demands in force. A flow that several demands are about is held by the
// strictest, then by the strictest of those that remain, until each has ended. It belongs
// to one goroutine, and allocates only while it holds more than ever before.
type Table[F comparable] struct {
	// Limit is how long a demand of a kind may hold without an end: then it is released, and its
	// key ignored for as long again (as pfcwd does with a class); 0: no limit.
	Limit [notify.NumKinds]time.Duration

	// Released counts demands that the limit of their kind released.
	Released [notify.NumKinds]uint64

	// Turnover counts demands that began to hold, and those that ended.
	Turnover uint64

	room    int // for flows of demands: one flow under two demands counts twice
	used    int
	demands map[Key]*demand[F] // by base, the first of a list
	flows   map[F]*held[F]
	ends    clock.Heap[*demand[F]]

	freeDemands []*demand[F]
	freeHeld    []*held[F]
}

// demand is a demand in force with its flows.
type demand[F comparable] struct {
	InForce
	flows []F
	place int        // in ends
	next  *demand[F] // of the same base
}

// When implements [clock.Timed].
func (d *demand[F]) When() int64 { return d.Until }

// Place implements [clock.Timed].
func (d *demand[F]) Place() *int { return &d.place }

// held is a flow with the demands on it and the hold that results.
type held[F comparable] struct {
	rate  uint64 // when the hold began; 0: not measured yet
	share uint64
	by    []*demand[F]
	hold  Hold
}

// NewTable returns an empty table with room for so many flows of demands, all demands
// together: a flow that two of them are about counts twice.
func NewTable[F comparable](room int) *Table[F] {
	t := &Table[F]{room: room, demands: make(map[Key]*demand[F], room), flows: make(map[F]*held[F], room)}
	t.ends.Grow(room)
	return t
}

// Receive takes a demand at time now (ns) about the flows that are known to belong to it,
// and appends the resulting changes. A demand above the table's room is refused whole.
func (t *Table[F]) Receive(changes []Change[F], now int64, k Key, d Demand, flows []Target[F]) ([]Change[F], Outcome) {
	switch d.Verb {
	case Note:
		return changes, Noted
	case End:
		return t.end(changes, now, k)
	}
	old := t.find(k)
	switch {
	case old != nil && old.Ignored:
		return changes, Ignored
	case old == nil && len(flows) == 0:
		return changes, Unknown
	case t.used+t.additions(old, flows) > t.room || old == nil && t.ends.Len() >= t.room:
		return changes, Full
	}
	if d.Verb == Extend {
		d.Keep = 100
		if old != nil {
			d.Keep = old.Keep
		}
	}
	outcome := Refreshed
	if old == nil {
		outcome = Held
		old = t.add(now, k)
	} else {
		old.Refreshes++
		if k.Flow.SrcQP != 0 {
			old.Flow = k.Flow // learned since
		}
	}
	old.Keep, old.Until = d.Keep, now+int64(d.For)
	if limit := t.Limit[k.Kind]; limit > 0 {
		old.Until = min(old.Until, old.Since+int64(limit))
	}
	t.ends.Put(old)
	for _, f := range flows {
		t.join(old, f)
	}
	for _, f := range old.flows {
		changes = t.update(changes, now, f)
	}
	return changes, outcome
}

// end ends every demand that the key's flow identifier agrees with.
func (t *Table[F]) end(changes []Change[F], now int64, k Key) ([]Change[F], Outcome) {
	outcome := Unknown
	for d := t.demands[k.base()]; d != nil; {
		next := d.next
		switch {
		case !agrees(d.Flow, k.Flow):
		case d.Ignored:
			if outcome == Unknown {
				outcome = Ignored
			}
		default:
			changes, outcome = t.remove(changes, now, d), Ended
		}
		d = next
	}
	return changes, outcome
}

// find returns the demand that a message with the key replaces: the one with that key,
// or the only one about the same flow where the source queue pair was learned between
// them.
func (t *Table[F]) find(k Key) *demand[F] {
	var other *demand[F]
	only := true
	for d := t.demands[k.base()]; d != nil; d = d.next {
		if d.Key == k {
			return d
		}
		if learned(d.Flow, k.Flow) {
			only = other == nil
			other = d
		}
	}
	if !only {
		return nil
	}
	return other
}

// Until returns the end of the demand of a key, ns; 0: it has none.
func (t *Table[F]) Until(k Key) int64 {
	if d := t.find(k); d != nil {
		return d.Until
	}
	return 0
}

// Measured takes the rate (bit/s) of a flow whose hold asked to measure it, at time now
// (ns), and appends the changes. A rate of 0 is ignored: a silent flow has yet to be
// slowed.
func (t *Table[F]) Measured(changes []Change[F], now int64, f F, rate uint64) []Change[F] {
	h := t.flows[f]
	if h == nil || h.rate != 0 || rate == 0 {
		return changes
	}
	h.rate = rate
	return t.update(changes, now, f)
}

// Join adds a flow to a demand in force, such as one that was seen only after it, and
// appends the changes. It reports false where the demand is gone or the table full.
func (t *Table[F]) Join(changes []Change[F], now int64, k Key, f Target[F]) ([]Change[F], bool) {
	d := t.find(k)
	if d == nil || d.Ignored || t.used+t.additions(d, []Target[F]{f}) > t.room {
		return changes, false
	}
	t.join(d, f)
	return t.update(changes, now, f.Flow), true
}

// Leave removes a flow that ended, and appends the changes for the switch. A demand
// without another flow ends with it.
func (t *Table[F]) Leave(changes []Change[F], now int64, f F) []Change[F] {
	h := t.flows[f]
	if h == nil {
		return changes
	}
	for _, d := range h.by {
		d.flows = slices.DeleteFunc(d.flows, func(o F) bool { return o == f })
		t.used--
		if len(d.flows) == 0 {
			t.forget(d)
		}
	}
	h.by = h.by[:0]
	return t.update(changes, now, f)
}

// Expire ends the demands that are over at time now (ns), and appends the changes.
//
//conformance:draft-yang/maintain
func (t *Table[F]) Expire(changes []Change[F], now int64) []Change[F] {
	for d, ok := t.ends.First(); ok && d.Until <= now; d, ok = t.ends.First() {
		limit := int64(t.Limit[d.Kind])
		if d.Ignored || limit == 0 || d.Until < d.Since+limit {
			changes = t.remove(changes, now, d)
			continue
		}
		t.Released[d.Kind]++
		d.Ignored, d.Until = true, now+limit
		t.ends.Put(d)
		changes = t.release(changes, now, d)
	}
	return changes
}

// Next returns when Expire is to be called; ok is false for an empty table. It is in ns,
// of the clock that the demands came with.
func (t *Table[F]) Next() (at int64, ok bool) {
	d, ok := t.ends.First()
	if !ok {
		return 0, false
	}
	return d.Until, true
}

// Clear ends all demands, and appends the changes. Demands that are ignored are
// forgotten, too, so their keys may hold again.
func (t *Table[F]) Clear(changes []Change[F], now int64) []Change[F] {
	for d, ok := t.ends.First(); ok; d, ok = t.ends.First() {
		changes = t.remove(changes, now, d)
	}
	return changes
}

// Hold returns the hold of a flow; the zero value for a free one. Its Until is 0 then.
func (t *Table[F]) Hold(f F) Hold {
	if h := t.flows[f]; h != nil {
		return h.hold
	}
	return Hold{}
}

// All iterates over the demands that hold, or are ignored, in any order. The slice of
// flows is the table's. The table must stay as it is meanwhile.
func (t *Table[F]) All() iter.Seq2[InForce, []F] {
	return func(yield func(InForce, []F) bool) {
		for d := range t.ends.All {
			d.Flows = len(d.flows)
			if !yield(d.InForce, d.flows) {
				return
			}
		}
	}
}

// On appends the demands that hold a flow, in the order in which they came, and returns
// the slice as append does.
func (t *Table[F]) On(all []InForce, f F) []InForce {
	if h := t.flows[f]; h != nil {
		for _, d := range h.by {
			all = append(all, d.InForce)
		}
	}
	return all
}

// additions returns the number of flows that are new to the demand.
func (t *Table[F]) additions(d *demand[F], flows []Target[F]) (n int) {
	for _, f := range flows {
		if !t.under(d, f.Flow) {
			n++
		}
	}
	return n
}

// under reports whether a demand is on a flow.
func (t *Table[F]) under(d *demand[F], f F) bool {
	h := t.flows[f]
	return h != nil && slices.Contains(h.by, d)
}

// join puts a demand on a flow; a second time has no effect.
func (t *Table[F]) join(d *demand[F], f Target[F]) {
	if t.under(d, f.Flow) {
		return
	}
	h := t.flows[f.Flow]
	if h == nil {
		h = take(&t.freeHeld)
		h.rate, h.share, h.by, h.hold = f.Rate, f.Share, h.by[:0], Hold{}
		t.flows[f.Flow] = h
	}
	h.by = append(h.by, d)
	d.flows = append(d.flows, f.Flow)
	t.used++
}

// add makes a demand with a key that begins to hold.
func (t *Table[F]) add(now int64, k Key) *demand[F] {
	d := take(&t.freeDemands)
	base := k.base()
	*d = demand[F]{InForce: InForce{Key: k, Since: now}, flows: d.flows[:0], next: t.demands[base]}
	t.demands[base] = d
	t.ends.Put(d)
	t.Turnover++
	return d
}

// take returns something that was used before, or something new.
func take[T any](free *[]*T) *T {
	last := len(*free) - 1
	if last < 0 {
		return new(T)
	}
	v := (*free)[last]
	*free = (*free)[:last]
	return v
}

// remove ends a demand.
func (t *Table[F]) remove(changes []Change[F], now int64, d *demand[F]) []Change[F] {
	changes = t.release(changes, now, d)
	t.forget(d)
	return changes
}

// release frees the flows of a demand that other demands leave free.
func (t *Table[F]) release(changes []Change[F], now int64, d *demand[F]) []Change[F] {
	t.used -= len(d.flows)
	for _, f := range d.flows {
		h := t.flows[f]
		h.by = slices.DeleteFunc(h.by, func(o *demand[F]) bool { return o == d })
		changes = t.update(changes, now, f)
	}
	d.flows = d.flows[:0]
	return changes
}

// forget takes a demand out of the table.
func (t *Table[F]) forget(d *demand[F]) {
	base := d.base()
	if first := t.demands[base]; first != d {
		for first.next != d {
			first = first.next
		}
		first.next = d.next
	} else if d.next != nil {
		t.demands[base] = d.next
	} else {
		delete(t.demands, base)
	}
	t.ends.Remove(d)
	t.Turnover++
	t.freeDemands = append(t.freeDemands, d)
}

// update computes the hold of a flow and appends it if it changed.
func (t *Table[F]) update(changes []Change[F], now int64, f F) []Change[F] {
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
	switch {
	case hold.Keep == 0:
	case h.rate != 0:
		hold.Rate = max(h.rate*uint64(hold.Keep)/100, MinRate)
	default:
		if hold.Measure = true; h.share != 0 {
			hold.Rate = max(h.share*uint64(hold.Keep)/100, MinRate)
		}
	}
	if hold != h.hold {
		h.hold = hold
		changes = append(changes, Change[F]{f, hold})
	}
	if len(h.by) == 0 {
		delete(t.flows, f)
		t.freeHeld = append(t.freeHeld, h)
	}
	return changes
}
