// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/notify"
)

const us = int64(time.Microsecond)

// key returns the key of a demand of a neighbor about a stream.
func key(neighbor byte, stream uint16) Key {
	from := netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 15: neighbor})
	return Key{Kind: notify.KindPFCM, From: from, Port: 1, Queue: 3, Stream: stream}
}

func limit(keep uint8, micros int64) Demand {
	return Demand{Verb: Limit, Keep: keep, For: time.Duration(micros * us)}
}

const gbit = 1_000_000_000

// A move is one thing that happens to a table, and what comes of it.
type move struct {
	At      int64 // µs
	Key     Key
	Demand  Demand // the zero value: nothing is received, Expire is called
	Flows   []Target[string]
	Outcome Outcome
	Changes []Change[string]
}

func to(flow string, keep uint8, rate uint64, until int64) Change[string] {
	return Change[string]{flow, Hold{Keep: keep, Rate: rate, Until: until * us}}
}

//conformance:draft-yang/enforce draft-yang/maintain
func TestTableHoldsFlowsAsDemanded(t *testing.T) {
	a := []Target[string]{{Flow: "a", Rate: 40 * gbit}}
	slow := []Target[string]{{Flow: "a", Rate: 2 * gbit}} // what is measured while it is held
	free := func(flow string) Change[string] { return Change[string]{Flow: flow} }
	for name, moves := range map[string][]move{
		"pause, refresh, expiry": {
			{At: 0, Key: key(1, 7), Demand: limit(0, 100), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 0, 0, 100)}},
			{At: 50, Key: key(1, 7), Demand: limit(0, 100), Flows: slow, Outcome: Refreshed, Changes: []Change[string]{to("a", 0, 0, 150)}},
			{At: 149},
			{At: 150, Changes: []Change[string]{free("a")}},
		},
		"a reduction is of the rate when the hold began, also when refreshed": {
			{At: 0, Key: key(1, 7), Demand: limit(75, 100), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 75, 30*gbit, 100)}},
			{At: 50, Key: key(1, 7), Demand: limit(75, 100), Flows: slow, Outcome: Refreshed, Changes: []Change[string]{to("a", 75, 30*gbit, 150)}},
			{At: 60, Key: key(1, 7), Demand: limit(50, 100), Flows: slow, Outcome: Refreshed, Changes: []Change[string]{to("a", 50, 20*gbit, 160)}},
			{At: 160, Changes: []Change[string]{free("a")}},
			{At: 170, Key: key(1, 7), Demand: limit(50, 100), Flows: slow, Outcome: Held, Changes: []Change[string]{to("a", 50, 1*gbit, 270)}},
		},
		"the strictest of several holds, and each to its end": {
			{At: 0, Key: key(1, 7), Demand: limit(50, 300), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 50, 20*gbit, 300)}},
			{At: 10, Key: key(2, 7), Demand: limit(0, 100), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 0, 0, 110)}},
			{At: 20, Key: key(3, 7), Demand: limit(60, 500), Flows: a, Outcome: Held},
			{At: 110, Changes: []Change[string]{to("a", 50, 20*gbit, 300)}},
			{At: 300, Changes: []Change[string]{to("a", 60, 24*gbit, 520)}},
			{At: 520, Changes: []Change[string]{free("a")}},
		},
		"of two pauses the longer one": {
			{At: 0, Key: key(1, 7), Demand: limit(0, 100), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 0, 0, 100)}},
			{At: 0, Key: key(2, 7), Demand: limit(0, 200), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 0, 0, 200)}},
			{At: 100},
			{At: 200, Changes: []Change[string]{free("a")}},
		},
		"a cancel ends its own key only": {
			{At: 0, Key: key(1, 7), Demand: limit(0, 100), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 0, 0, 100)}},
			{At: 1, Key: key(2, 7), Demand: Demand{Verb: End}, Flows: a, Outcome: Unknown},
			{At: 2, Key: key(1, 8), Demand: Demand{Verb: End}, Flows: a, Outcome: Unknown},
			{At: 3, Key: key(1, 7), Demand: Demand{Verb: End}, Outcome: Ended, Changes: []Change[string]{free("a")}},
		},
		"a shorter time replaces a longer one": {
			{At: 0, Key: key(1, 7), Demand: limit(0, 1000), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 0, 0, 1000)}},
			{At: 10, Key: key(1, 7), Demand: limit(0, 20), Flows: a, Outcome: Refreshed, Changes: []Change[string]{to("a", 0, 0, 30)}},
			{At: 30, Changes: []Change[string]{free("a")}},
		},
		"one stream, two flows: both are held": {
			{At: 0, Key: key(1, 7), Demand: limit(0, 100), Flows: []Target[string]{{Flow: "a", Rate: 1}, {Flow: "b", Rate: 1}}, Outcome: Held,
				Changes: []Change[string]{to("a", 0, 0, 100), to("b", 0, 0, 100)}},
			{At: 100, Changes: []Change[string]{free("a"), free("b")}},
		},
		"extended: what is in force goes on, nothing in force freezes": {
			{At: 0, Key: key(1, 7), Demand: limit(0, 100), Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 0, 0, 100)}},
			{At: 50, Key: key(1, 7), Demand: Demand{Verb: Extend, For: time.Duration(100 * us)}, Flows: a, Outcome: Refreshed, Changes: []Change[string]{to("a", 0, 0, 150)}},
			{At: 150, Changes: []Change[string]{free("a")}},
			{At: 160, Key: key(1, 7), Demand: Demand{Verb: Extend, For: time.Duration(100 * us)}, Flows: a, Outcome: Held, Changes: []Change[string]{to("a", 100, 40*gbit, 260)}},
		},
		"no demand, or no flow that it names": {
			{At: 0, Key: key(1, 7), Demand: Demand{Verb: Note, Keep: 1}, Flows: a, Outcome: Noted},
			{At: 0, Key: key(1, 7), Demand: limit(0, 100), Outcome: Unknown},
		},
		"a percentage of a slow flow does not stop it": {
			{At: 0, Key: key(1, 7), Demand: limit(50, 100), Flows: []Target[string]{{Flow: "a", Rate: 10}}, Outcome: Held, Changes: []Change[string]{to("a", 50, MinRate, 100)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable[string](10)
			began, last := 0, 0
			for _, m := range moves {
				got := m
				if got.Changes = nil; m.Demand == (Demand{}) {
					got.Changes = table.Expire(nil, m.At*us)
				} else {
					got.Changes, got.Outcome = table.Receive(nil, m.At*us, m.Key, m.Demand, m.Flows)
				}
				if diff := cmp.Diff(m, got, cmp.Comparer(func(a, b Key) bool { return a == b })); diff != "" {
					t.Fatalf("at %d µs (-want +got):\n%s", m.At, diff)
				}
				if m.Outcome == Held {
					began++
				}
			}
			for range table.All() {
				last++
			}
			if got, want := table.Turnover, uint64(2*began-last); got != want {
				t.Errorf("turnover %d, want %d: %d began, and %d have not ended", got, want, began, last)
			}
		})
	}
}

// What does not fit changes nothing, and room that is free again is used.
func TestFullTableRefusesDemandsAndStaysAsItIs(t *testing.T) {
	table := NewTable[string](2)
	all := []Target[string]{{Flow: "a", Rate: 1}, {Flow: "b", Rate: 1}, {Flow: "c", Rate: 1}}
	if c, o := table.Receive(nil, 0, key(1, 1), limit(0, 100), all); o != Full || c != nil || table.used != 0 {
		t.Errorf("three flows in room for two: %v, %v", o, c)
	}
	if _, o := table.Receive(nil, 0, key(1, 1), limit(0, 100), all[:1]); o != Held {
		t.Error(o)
	}
	if _, ok := table.Join(nil, 0, key(1, 1), all[1]); !ok {
		t.Error("the second flow did not fit")
	}
	if _, ok := table.Join(nil, 0, key(1, 1), all[2]); ok {
		t.Error("the third flow did")
	}
	if _, o := table.Receive(nil, 1, key(1, 1), limit(0, 100), all[:2]); o != Refreshed {
		t.Errorf("a refresh in a full table: %v", o)
	}
	table.Leave(nil, 2, "b")
	if _, o := table.Receive(nil, 3, key(2, 1), limit(0, 100), all[2:]); o != Held {
		t.Error(o)
	}
}

// A reduction of a flow whose rate is not known measures first: it is not slowed to a
// guess. A flow that sent nothing stays as it is.
func TestReductionMeasuresFirst(t *testing.T) {
	table := NewTable[string](10)
	measuring := Change[string]{"a", Hold{Keep: 50, Measure: true, Until: 100 * us}}
	changes, _ := table.Receive(nil, 0, key(1, 7), limit(50, 100), []Target[string]{{Flow: "a", Rate: 0}})
	if diff := cmp.Diff([]Change[string]{measuring}, changes); diff != "" {
		t.Fatal(diff)
	}
	if c := table.Measured(nil, 5*us, "a", 0); c != nil {
		t.Errorf("a flow that sent nothing: %v", c)
	}
	if diff := cmp.Diff([]Change[string]{to("a", 50, 20*gbit, 100)}, table.Measured(nil, 10*us, "a", 40*gbit)); diff != "" {
		t.Error(diff)
	}
	if c := table.Measured(nil, 20*us, "a", 20*gbit); c != nil {
		t.Errorf("measured while it is slowed: %v", c)
	}
	// A pause does not wait for the measurement.
	changes, _ = table.Receive(nil, 30*us, key(1, 8), limit(0, 100), []Target[string]{{Flow: "b", Rate: 0}})
	if diff := cmp.Diff([]Change[string]{to("b", 0, 0, 130)}, changes); diff != "" {
		t.Error(diff)
	}
}

// Who holds a flow for the limit without ever ending it is released, and ignored for as
// long: also its end, and also where it refreshes all the time.
func TestLimitReleasesAndIgnores(t *testing.T) {
	table := NewTable[string](10)
	table.Limit[notify.KindPFCM] = 400 * time.Microsecond
	a := []Target[string]{{Flow: "a", Rate: gbit}}
	received := func(at int64, d Demand) Outcome {
		_, o := table.Receive(nil, at*us, key(1, 7), d, a)
		return o
	}
	for at := int64(0); at < 400; at += 20 {
		table.Expire(nil, at*us)
		if o := received(at, limit(0, 40)); o != Held && o != Refreshed || table.Hold("a").Until > 400*us {
			t.Fatalf("at %d µs: %s, until %d", at, o.Label(), table.Hold("a").Until)
		}
	}
	if at, ok := table.Next(); !ok || at != 400*us {
		t.Fatalf("next at %d (%v)", at, ok)
	}
	if diff := cmp.Diff([]Change[string]{{Flow: "a"}}, table.Expire(nil, 400*us)); diff != "" || table.Released[notify.KindPFCM] != 1 {
		t.Fatalf("released %d: %s", table.Released[notify.KindPFCM], diff)
	}
	for _, d := range []Demand{limit(0, 40), {Verb: Extend, For: time.Duration(40 * us)}, {Verb: End}} {
		if o := received(420, d); o != Ignored || table.Hold("a").Until != 0 {
			t.Errorf("%+v of an ignored key: %s", d, o.Label())
		}
	}
	if _, o := table.Receive(nil, 430*us, key(2, 7), limit(0, 40), a); o != Held {
		t.Errorf("another neighbor: %s", o.Label())
	}
	table.Expire(nil, 800*us)
	if o := received(801, limit(0, 40)); o != Held {
		t.Errorf("after that: %s", o.Label())
	}
	// One that ends in between is no reason to release.
	for at := int64(1000); at < 3000; at += 20 {
		table.Expire(nil, at*us)
		d := limit(0, 40)
		if at%200 == 0 {
			d = Demand{Verb: End}
		}
		received(at, d)
	}
	if table.Released[notify.KindPFCM] != 1 {
		t.Errorf("released %d times", table.Released[notify.KindPFCM])
	}
}

// Holding and releasing allocates nothing once the table has been as full before.
func TestTableDoesNotAllocate(t *testing.T) {
	table := NewTable[int](64)
	changes := make([]Change[int], 0, 256)
	now, target := int64(0), make([]Target[int], 1)
	round := func() {
		for i := range 32 {
			target[0] = Target[int]{Flow: i}
			changes, _ = table.Receive(changes[:0], now, key(1, uint16(i+1)), limit(uint8(50*(i%2)), 100), target)
			changes = table.Measured(changes, now, i, gbit)
		}
		now += 50 * us
		for i := range 16 {
			changes, _ = table.Receive(changes[:0], now, key(1, uint16(i+1)), Demand{Verb: End}, nil)
		}
		now += 100 * us
		changes = table.Expire(changes[:0], now)
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
	p, frames := NewPauses(), make([]Frame, 0, 16)
	round = func() {
		for i := range uint16(8) {
			p.Receive(now, onQueue(byte(i), i), limit(0, 100), uint32(i%2))
			frames = p.Frames(frames[:0], now, speed(100_000))
		}
		now += 200 * us
		frames = p.Frames(frames[:0], now, speed(100_000))
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a round of PFC", n)
	}
}

func TestJoinLeaveClear(t *testing.T) {
	table := NewTable[string](10)
	if c, ok := table.Join(nil, 0, key(1, 1), Target[string]{Flow: "a", Rate: 1}); ok || c != nil {
		t.Error("joined what is not there")
	}
	table.Receive(nil, 0, key(1, 1), limit(0, 100), []Target[string]{{Flow: "a", Rate: 1}})
	changes, _ := table.Join(nil, 10*us, key(1, 1), Target[string]{Flow: "b", Rate: 1})
	if diff := cmp.Diff([]Change[string]{to("b", 0, 0, 100)}, changes); diff != "" {
		t.Error(diff)
	}
	if got := table.Hold("b"); got != (Hold{Until: 100 * us}) {
		t.Errorf("hold %+v", got)
	}
	if diff := cmp.Diff([]Change[string]{{Flow: "a"}}, table.Leave(nil, 20*us, "a")); diff != "" {
		t.Error(diff)
	}
	if c := table.Leave(nil, 20*us, "a"); c != nil {
		t.Errorf("a flow that left: %v", c)
	}
	if diff := cmp.Diff([]Change[string]{{Flow: "b"}}, table.Clear(nil, 30*us)); diff != "" {
		t.Error(diff)
	}
	if at, ok := table.Next(); ok || table.used != 0 || len(table.flows) != 0 || len(table.demands) != 0 {
		t.Errorf("left: next %d, %+v", at, table)
	}
}

// reference is the table as one would write it who had all the time there is.
type reference struct {
	demands []refDemand
	rate    map[string]uint64 // of flows under a demand
}

type refDemand struct {
	key   Key
	keep  uint8
	until int64
	flows []string
}

func (r *reference) hold(now int64, flow string) (h Hold) {
	for _, d := range r.demands {
		if d.until > now && slices.Contains(d.flows, flow) &&
			(h.Until == 0 || d.keep < h.Keep || d.keep == h.Keep && d.until > h.Until) {
			h = Hold{Keep: d.keep, Until: d.until}
		}
	}
	if h.Keep > 0 && r.rate[flow] == 0 {
		h.Measure = true
	} else if h.Keep > 0 {
		h.Rate = max(r.rate[flow]*uint64(h.Keep)/100, MinRate)
	}
	return h
}

func (r *reference) drop(gone func(refDemand) bool) {
	r.demands = slices.DeleteFunc(r.demands, gone)
	for flow := range r.rate {
		if !slices.ContainsFunc(r.demands, func(d refDemand) bool { return slices.Contains(d.flows, flow) }) {
			delete(r.rate, flow)
		}
	}
}

func (r *reference) join(d *refDemand, f Target[string]) {
	if !slices.Contains(d.flows, f.Flow) {
		d.flows = append(d.flows, f.Flow)
	}
	if _, ok := r.rate[f.Flow]; !ok {
		r.rate[f.Flow] = f.Rate
	}
}

// Whatever comes in whatever order: the table says of each flow what the reference says,
// the changes lead there, and nothing is left when the last demand is over.
//
//conformance:draft-yang/maintain
func TestAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flows := []string{"a", "b", "c", "d"}
		table := NewTable[string](1000)
		ref := &reference{rate: map[string]uint64{}}
		onSwitch := map[string]Hold{}
		now := int64(0)
		follow := func(changes []Change[string]) {
			for _, c := range changes {
				if onSwitch[c.Flow] == c.Hold {
					t.Fatalf("a change that changes nothing: %+v", c)
				}
				onSwitch[c.Flow] = c.Hold
			}
		}
		targets := func() (of []Target[string]) {
			for _, f := range flows {
				if rapid.Bool().Draw(t, f) {
					of = append(of, Target[string]{Flow: f, Rate: rapid.SampledFrom([]uint64{0, 1, 40 * gbit, 400 * gbit}).Draw(t, "rate")})
				}
			}
			return of
		}
		keys := rapid.Custom(func(t *rapid.T) Key {
			return key(rapid.ByteRange(1, 2).Draw(t, "neighbor"), rapid.Uint16Range(1, 2).Draw(t, "stream"))
		})
		find := func(k Key) *refDemand {
			for i := range ref.demands {
				if ref.demands[i].key == k {
					return &ref.demands[i]
				}
			}
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				k, of := keys.Draw(t, "key"), targets()
				d := Demand{
					Verb: Verb(rapid.IntRange(int(Note), int(End)).Draw(t, "verb")),
					Keep: rapid.Uint8Range(0, 100).Draw(t, "keep"),
					For:  time.Duration(rapid.Int64Range(1, 100).Draw(t, "for") * us),
				}
				changes, outcome := table.Receive(nil, now, k, d, of)
				follow(changes)
				old, want := find(k), Noted
				switch {
				case d.Verb == Note:
				case d.Verb == End && old == nil, old == nil && len(of) == 0:
					want = Unknown
				case d.Verb == End:
					want = Ended
					ref.drop(func(d refDemand) bool { return d.key == k })
				default:
					if want = Refreshed; old == nil {
						want = Held
						ref.demands = append(ref.demands, refDemand{key: k, keep: 100})
						old = &ref.demands[len(ref.demands)-1]
					}
					if d.Verb == Limit {
						old.keep = d.Keep
					}
					old.until = now + int64(d.For)
					for _, f := range of {
						ref.join(old, f)
					}
				}
				if outcome != want {
					t.Fatalf("outcome %v, want %v", outcome.Label(), want.Label())
				}
			},
			"join": func(t *rapid.T) {
				k, f := keys.Draw(t, "key"), Target[string]{Flow: rapid.SampledFrom(flows).Draw(t, "flow"), Rate: gbit}
				changes, ok := table.Join(nil, now, k, f)
				follow(changes)
				d := find(k)
				if ok != (d != nil) {
					t.Fatalf("joined: %v", ok)
				}
				if ok {
					ref.join(d, f)
				}
			},
			"measured": func(t *rapid.T) {
				f, rate := rapid.SampledFrom(flows).Draw(t, "flow"), rapid.Uint64Range(0, gbit).Draw(t, "rate")
				follow(table.Measured(nil, now, f, rate))
				if was, ok := ref.rate[f]; ok && was == 0 {
					ref.rate[f] = rate
				}
			},
			"leave": func(t *rapid.T) {
				f := rapid.SampledFrom(flows).Draw(t, "flow")
				follow(table.Leave(nil, now, f))
				for i := range ref.demands {
					ref.demands[i].flows = slices.DeleteFunc(ref.demands[i].flows, func(o string) bool { return o == f })
				}
				ref.drop(func(d refDemand) bool { return len(d.flows) == 0 })
			},
			"time": func(t *rapid.T) {
				to := now + rapid.Int64Range(0, 150).Draw(t, "µs")*us
				for at, ok := table.Next(); ok && at <= to; at, ok = table.Next() {
					if at < now {
						t.Fatalf("next at %d, now %d", at, now)
					}
					now = at
					follow(table.Expire(nil, now))
				}
				now = to
				ref.drop(func(d refDemand) bool { return d.until <= now })
			},
			"": func(t *rapid.T) {
				for _, f := range flows {
					want := ref.hold(now, f)
					if onSwitch[f] != want || table.Hold(f) != want {
						t.Fatalf("flow %s: switch %+v, table %+v, want %+v", f, onSwitch[f], table.Hold(f), want)
					}
				}
				n, used := 0, 0
				for d := range table.All() {
					r := find(d.Key)
					if r == nil || d.Keep != r.keep || d.Until != r.until || d.Flows != len(r.flows) {
						t.Fatalf("in force: %+v, want %+v", d, r)
					}
					n, used = n+1, used+d.Flows
				}
				if n != len(ref.demands) || len(table.flows) != len(ref.rate) || used != table.used {
					t.Fatalf("%d demands, %d flows, used %d; want %d, %d, %d", n, len(table.flows), table.used, len(ref.demands), len(ref.rate), used)
				}
			},
		})
	})
}

// Label is the outcome as one lower-case word.
func (o Outcome) Label() string {
	return [...]string{"told", "held", "refreshed", "ended", "unknown", "full", "ignored"}[o]
}
