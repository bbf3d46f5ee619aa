// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/switch/engine"
)

// New flows fill the members, and flows whose sizes come to light move.
func TestFlowsFillTheMembers(t *testing.T) {
	b := newBed(t, kernel())
	for i := range 64 {
		b.add(hashed(uint32(i)), 1e6)
	}
	b.run(time.Second)
	b.want("equal flows", 1.001)
	if r := b.report(); r.Moves != 0 || r.HashWorstOverMean < 1.05 || r.ModelErrorPercent > 0.5 {
		t.Errorf("%d moves, by hash %.3f, error %.1f %%", r.Moves, r.HashWorstOverMean, r.ModelErrorPercent)
	}
	for i, k := range b.order {
		b.rates[k] = 1e6 / float64(i+1)
	}
	b.run(3 * time.Second)
	moved := b.report().Moves
	b.want("sizes by Zipf's law", 1.05)
	b.distinct()
	if moved == 0 || moved > 30 {
		t.Errorf("%d moves", moved)
	}
	if b.run(10 * time.Second); b.report().Moves != moved {
		t.Errorf("%d moves more while the load stayed as it was", b.report().Moves-moved)
	}
}

// A next hop that goes down, comes back, or gets another weight; one more next hop.
func TestMembersChange(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(64)
	b.run(4 * time.Second)
	b.want("at first", 1.05)
	for _, tt := range []struct {
		name string
		most float64
		to   []int
	}{{"one is down", 1.10, []int{1, 0, 1, 1}}, {"it is up", 1.05, []int{1, 1, 1, 1}}, {"weights", 1.05, []int{1, 2, 4, 1}}, {"one more", 1.06, []int{1, 1, 1, 1, 1}}, {"one less", 1.10, []int{1, 1, 1}}} {
		b.groups[dst] = members(tt.to...)
		b.p.Stale(b.now)
		b.run(3 * time.Second)
		b.want(tt.name, tt.most)
		b.distinct()
		if r := b.report(); r.Reason != "" || r.Flows != 64 || len(r.Members) != len(tt.to) {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
	if r := b.report(); r.Rerouted == 0 {
		t.Error("no flow was counted as rerouted")
	}
}

// All next hops are down, the route goes, is one next hop alone, and comes back: labels stay.
func TestRouteGoes(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(16)
	b.run(4 * time.Second)
	labels := b.labels()
	b.groups[dst] = members(0, 0, 0, 0)
	b.p.Stale(b.now)
	b.run(time.Second)
	if r := b.report(); r.Unknown != 16 {
		t.Errorf("without a next hop %d of 16 paths are known", 16-r.Unknown)
	}
	for _, to := range [][]int{nil, {1}} {
		if b.groups[dst] = nil; to != nil {
			b.groups[dst] = members(to...)
		}
		b.p.Stale(b.now)
		b.run(time.Second)
		if n := len(b.p.Reports()); n != 0 {
			t.Errorf("%d groups with next hops %v", n, to)
		}
	}
	b.groups[dst] = members(1, 1, 1, 1)
	b.p.Stale(b.now)
	b.step(time.Second)
	if !slices.Equal(labels, b.labels()) || b.report().Flows != 16 {
		t.Error("labels changed, or flows are not back")
	}
}

// Another route takes some destinations to other next hops.
func TestRouteOfSomeDestinationsChanges(t *testing.T) {
	b := newBed(t, kernel())
	other := netip.MustParseAddr("2001:db8:3::1")
	b.groups[other] = b.groups[dst]
	for i := range 16 {
		f := hashed(uint32(i))
		if i%2 == 1 {
			f.Dst = other
		}
		b.add(f, 1e6)
	}
	b.run(time.Second)
	if r := b.report(); r.Flows != 16 {
		t.Errorf("%d flows in the group of both", r.Flows)
	}
	labels := b.labels()
	b.groups[other] = members(1, 1)
	b.p.Stale(b.now)
	b.step(100 * time.Millisecond)
	if all := b.p.Reports(); len(all) != 2 || all[0].Flows != 8 || all[1].Flows != 8 {
		t.Errorf("%d groups: %+v", len(all), all)
	}
	for i, label := range b.labels() {
		if i%2 == 1 && label != labels[i] {
			t.Errorf("flow %d got another label, though nothing is known of its new path", i)
		}
	}
}

// What is read fails: flows keep their labels, and it is tried again, not all the time.
func TestNextHopsCannotBeRead(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(16)
	b.run(3 * time.Second)
	labels := b.labels()
	b.readErr = errors.New("no buffer")
	b.groups[dst] = members(1, 1)
	b.p.Stale(b.now)
	reads := b.reads
	b.run(5 * time.Second)
	if n := b.reads - reads; b.p.Err() == nil || n < 3 || n > 7 {
		t.Errorf("read %d times in 5 s: %v", n, b.p.Err())
	}
	if !slices.Equal(labels, b.labels()) {
		t.Error("labels changed")
	}
	b.readErr = nil
	b.run(2 * time.Second)
	if len(b.report().Members) != 2 || b.p.Err() != nil {
		t.Errorf("%v: %+v", b.p.Err(), b.report())
	}
}

// The kernel's seed changes behind our back: no flow moves, new ones have the label of the
// hash, and the reason says so, until the seed is as it was.
func TestSeedChangedBehindOurBack(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(32)
	b.run(4 * time.Second)
	b.hash.Seed++
	for i, k := range b.order { // a load that would make flows move
		b.rates[k] = 1e6 / float64(32-i)
	}
	b.run(1200 * time.Millisecond)
	changes := b.changes
	r := b.report()
	if !strings.Contains(r.Reason, "fib_multipath_hash_seed is 4712, and Sluice set it to 4711") {
		t.Errorf("after 1.2 s: %q", r.Reason)
	}
	f := hashed(0x900)
	b.add(f, 1e6)
	if got := b.flows[key(f)].Label; got != f.Label {
		t.Errorf("a new flow has label %#x, want %#x, that of the hash", got, f.Label)
	}
	if b.run(5 * time.Second); b.changes != changes {
		t.Errorf("%d labels changed", b.changes-changes)
	}
	b.hash.Seed--
	b.run(4 * time.Second)
	if r := b.report(); r.Reason != "" || r.WorstOverMean > 1.05 {
		t.Errorf("with the seed as it was: %q, max ÷ mean %.3f", r.Reason, r.WorstOverMean)
	}
}

// Packets leave otherwise than the model says, and nothing tells why: the ports' counters
// do.
func TestCountersShowAWrongModel(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(32)
	b.run(4 * time.Second)
	b.truth = b.hashes(ecmp.Kernel{Seed: 99, Policy: ecmp.PolicyFields, Fields: ecmp.FiveTuple | ecmp.FieldLabel})
	b.run(3 * time.Second)
	r := b.report()
	if !r.Degraded || !strings.Contains(r.Reason, "not as predicted") {
		t.Errorf("after 3 s: error %.1f %%, %q", r.ModelErrorPercent, r.Reason)
	}
	changes := b.changes
	for i, k := range b.order {
		b.rates[k] = 1e6 / float64(32-i)
	}
	if b.run(5 * time.Second); b.changes != changes {
		t.Errorf("%d labels changed by a model that is wrong", b.changes-changes)
	}
}

// A hash that has no label, one that is not known, and one that the model lacks.
func TestHashesThatCannotBeUsed(t *testing.T) {
	for reason, change := range map[string]func(*bed){
		"does not hash the flow label": func(b *bed) { b.hash.Fields = ecmp.FiveTuple },
		"cannot be read":               func(b *bed) { b.hash.Seed = 0 },
		"the model knows":              func(b *bed) { b.hash.Policy = 2 },
		"it needs Linux 6.11":          func(b *bed) { b.hashErr = errors.New("it needs Linux 6.11") },
	} {
		c := kernel()
		c.Seed = 0
		b := newBed(t, c)
		change(b)
		b.truth = b.hashes(ecmp.Kernel{Seed: 1, Policy: ecmp.PolicyL4})
		b.zipf(8)
		b.run(2 * time.Second)
		r := b.report()
		if !strings.Contains(r.Reason, reason) || b.changes != 0 {
			t.Errorf("%d changes; %q, want %q", b.changes, r.Reason, reason)
		}
		for _, k := range b.order {
			if f := b.flows[k]; f.Label != hashed(f.DestQP).Label {
				t.Errorf("%s: label %#x, want that of the hash", reason, f.Label)
			}
		}
	}
}

// A held flow never moves, also where the hold came after the last look.
func TestHeldFlowNeverMoves(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(32)
	b.run(4 * time.Second)
	labels := b.labels()
	for i, k := range b.order {
		b.rates[k] = 1e6 / float64(32-i)
		b.held[k.DestQP] = i%2 == 0
	}
	b.run(5 * time.Second)
	moved := 0
	for i, label := range b.labels() {
		if label != labels[i] {
			moved++
			if i%2 == 0 {
				t.Errorf("flow %d is held, and moved", i)
			}
		}
	}
	if moved == 0 || b.report().Held != 16 {
		t.Errorf("%d flows moved, %d are held", moved, b.report().Held)
	}
}

// Which flows move, and when, changes with flows, rates and counters as they are.
func TestTunedPlacerKeepsItsCounters(t *testing.T) {
	c := kernel()
	b := newBed(t, c)
	b.zipf(32)
	b.run(4 * time.Second)
	swing := func() {
		for i, k := range b.order {
			b.rates[k] = 1e6 / float64(1+(i+16)%32)
		}
	}
	was := b.report()
	if was.Moves == 0 {
		t.Fatal("no flow moved")
	}
	c.Table.Moves = placement.MovesNever
	if !b.p.Tune(c) {
		t.Fatal("moves cannot be tuned")
	}
	swing()
	b.run(5 * time.Second)
	if r := b.report(); r.Moves != was.Moves || r.Looks <= was.Looks {
		t.Errorf("%d moves in %d looks, before %d in %d", r.Moves, r.Looks, was.Moves, was.Looks)
	}
	c.Table.Moves, c.Table.Threshold, c.Table.Goal = placement.MovesAny, 1.03, 1.01
	if !b.p.Tune(c) {
		t.Fatal("thresholds cannot be tuned")
	}
	b.run(5 * time.Second)
	if r := b.report(); r.Moves <= was.Moves {
		t.Errorf("%d moves, before %d: flows may move again", r.Moves, was.Moves)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Seed++ }, func(c *Config) { c.Leaf = "leaf" }, func(c *Config) { c.Table.Capacity = 7 }, func(c *Config) { c.Kernel = false },
	} {
		other := c
		if change(&other); b.p.Tune(other) {
			t.Errorf("%+v is tuned", other)
		}
	}
}

// A move that the switch refuses is taken back, and others go on.
func TestRefusedMoves(t *testing.T) {
	b := newBed(t, kernel())
	for i := range 32 {
		b.refuse[uint32(0x100+i)] = i%4 != 0
	}
	b.zipf(32)
	labels := b.labels()
	b.run(8 * time.Second)
	for i, label := range b.labels() {
		if label != labels[i] && i%4 != 0 {
			t.Errorf("flow %d moved", i)
		}
	}
	if r := b.report(); r.Undone == 0 || r.Moves != uint64(b.changes) {
		t.Errorf("%d moves, %d undone, %d labels changed", r.Moves, r.Undone, b.changes)
	}
}

// Only idle flows move, in place; who waits for that makes polls come often enough to see
// a pause.
func TestOnlyIdleFlowsMove(t *testing.T) {
	c := kernel()
	c.Table.Moves = placement.MovesIdle
	b := newBed(t, c)
	for i := range 16 {
		b.add(hashed(uint32(0x100+i)), 1e6)
	}
	b.run(2 * time.Second)
	for i, k := range b.order {
		b.rates[k] = 1e6 / float64(i+1)
	}
	b.run(3 * time.Second)
	waiting := b.step(100 * time.Millisecond)
	if next := b.p.Pace(waiting, time.Millisecond); b.changes != 0 || !waiting || next > 25*time.Millisecond {
		t.Fatalf("%d flows moved while they send, waiting %v, next poll in %v", b.changes, waiting, next)
	}
	rates := b.rates
	b.rates = map[engine.FlowEntry]float64{} // a pause of 80 ms
	for range 8 {
		b.step(10 * time.Millisecond)
	}
	if b.changes == 0 || b.report().Unsafe != 0 {
		t.Errorf("%d flows moved in the pause, %d of them were not idle", b.changes, b.report().Unsafe)
	}
	b.rates = rates
	b.run(time.Second)
	b.want("after a pause", 1.2)
}

// moves=any moves flows that send, and counts that.
func TestMovesOfBusyFlowsAreCounted(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(32)
	b.run(4 * time.Second)
	if r := b.report(); r.Moves == 0 || r.Unsafe != r.Moves {
		t.Errorf("%d moves, %d unsafe", r.Moves, r.Unsafe)
	}
}

// After a restart flows have the labels and source ports that they had, the paths are as
// predicted, and the next move lands.
func TestRestartChangesNoLabel(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(64)
	b.run(5 * time.Second)
	labels, changes := b.labels(), b.changes
	b.start(kernel())
	b.run(3 * time.Second)
	if !slices.Equal(labels, b.labels()) || b.changes != changes {
		t.Errorf("%d labels changed", b.changes-changes)
	}
	if r := b.report(); r.Adopted != 64 || r.Flows != 64 || r.ModelErrorPercent > 1 || r.HashWorstOverMean < 1.05 {
		t.Errorf("adopted %d of %d, error %.1f %%, by hash %.3f", r.Adopted, r.Flows, r.ModelErrorPercent, r.HashWorstOverMean)
	}
	b.distinct()
	for i, k := range b.order {
		b.rates[k] = 1e6 / float64(64-i)
	}
	b.run(4 * time.Second)
	b.want("after it, and another load", 1.05)
}

// Entries that go (evicted, idle, refused for want of room) are forgotten; what comes again
// is placed again.
func TestEntriesThatGoAreForgotten(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(16)
	b.run(time.Second)
	for _, k := range b.order[:8] {
		b.remove(k)
	}
	b.place(hashed(0x900))
	b.remove(hashed(0x900)) // as the switch has no room for it
	b.run(time.Second)
	if r := b.report(); r.Flows != 8 {
		t.Errorf("%d flows are known, 8 have entries", r.Flows)
	}
	for i := range 8 {
		b.place(hashed(uint32(0x100 + i)))
	}
	b.distinct()
}

// More flows than the table has room for have the label of the hash.
func TestFlowsBeyondTheTable(t *testing.T) {
	c := kernel()
	c.Table.Capacity = 8
	b := newBed(t, c)
	b.zipf(16)
	b.run(2 * time.Second)
	if r := b.report(); r.Flows != 8 || r.Placements[placement.Full] != 8 {
		t.Errorf("%d flows, %d found the table full", r.Flows, r.Placements[placement.Full])
	}
	for _, k := range b.order[8:] {
		if f := b.flows[k]; f.Label != hashed(f.DestQP).Label {
			t.Errorf("label %#x, want that of the hash", f.Label)
		}
	}
}

// A flow whose hash label another one has gets another.
func TestTwoFlowsThatNeedOneLabel(t *testing.T) {
	b := newBed(t, kernel())
	for i := range 8 {
		f := hashed(uint32(i))
		f.Label = 0x12345
		b.add(f, 1e6)
	}
	b.distinct()
}

// A clock that steps is no reason to move, nor to stop.
func TestClockSteps(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(32)
	b.run(4 * time.Second)
	changes := b.changes
	b.now = b.now.Add(-time.Hour)
	b.step(0)
	b.run(2 * time.Second)
	if b.changes != changes || b.report().ClockSteps == 0 {
		t.Errorf("%d labels changed, %d steps seen", b.changes-changes, b.report().ClockSteps)
	}
	b.now = b.now.Add(24 * time.Hour)
	b.step(0)
	for i, k := range b.order {
		b.rates[k] = 1e6 / float64(32-i)
	}
	b.run(5 * time.Second)
	b.want("after the steps", 1.05)
}

// Rates that swing: no flow moves more often than once a second, whatever its rate does.
func TestRatesThatSwing(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(32)
	times := map[uint32]int{}
	before := maps.Clone(b.flows)
	const seconds = 10
	for n := range seconds * 5 {
		for i, k := range b.order {
			b.rates[k] = 1e6 / float64(1+(i+n/2*7)%32)
		}
		b.step(200 * time.Millisecond)
		for k, f := range b.flows {
			if f.Label != before[k].Label {
				times[f.DestQP]++
			}
		}
		maps.Copy(before, b.flows)
	}
	if len(times) == 0 {
		t.Error("no flow moved")
	}
	for qp, n := range times {
		if n > seconds {
			t.Errorf("flow %#x moved %d times in %d s", qp, n, seconds)
		}
	}
	b.distinct()
}

// A flow of which the source port is not known is left alone until it is.
func TestFlowWithoutSourcePort(t *testing.T) {
	b := newBed(t, kernel())
	f := hashed(1)
	f.SrcPort = 0
	b.enter(f)
	b.order = []engine.FlowEntry{key(f)}
	b.rates[key(f)] = 1e6
	b.zipf(8)
	b.run(2 * time.Second)
	if b.p.NoPort() != 1 || b.report().Flows != 8 || b.flows[key(f)].Label != f.Label {
		t.Errorf("%d without port, %d flows placed", b.p.NoPort(), b.report().Flows)
	}
	b.known[key(f)].SetSrcPort(49152)
	b.flows[key(f)] = b.known[key(f)].FlowEntry
	if b.run(time.Second); b.p.NoPort() != 0 || b.report().Flows != 9 {
		t.Errorf("%d without port, %d flows placed", b.p.NoPort(), b.report().Flows)
	}
}

// A model that is learned from the ports that flows are seen to leave by: of a linear hash
// it is right, and otherwise flows get other labels until they fit.
func TestLearnedModel(t *testing.T) {
	crc, err := ecmp.OfHash(ecmp.CRC32{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	for name, truth := range map[string]ecmp.Model{"crc32": crc, "siphash": nil} {
		c := kernel()
		c.Kernel, c.Seed = false, 0
		b := newBed(t, c)
		b.truth = truth
		b.zipf(32)
		hash := b.spread()
		for range 600 {
			b.step(50 * time.Millisecond)
			for _, f := range b.flows { // samples tell the port
				b.known[key(f)].Observe(b.link(f))
			}
		}
		got, r := b.spread(), b.report()
		if truth != nil && (got > 1.05 || r.Model != "learned") || got >= hash {
			t.Errorf("%s: max ÷ mean %.3f by model %s after %d moves, %.3f by hash", name, got, r.Model, r.Moves, hash)
		}
		t.Logf("%s: max ÷ mean %.3f by model %s after %d moves, %.3f by hash", name, got, r.Model, r.Moves, hash)
	}
}

// A switch with its members in another order than the kernel: a learned model needs that
// order. It gives up without, begins again when it is known, and the group keeps its name and
// its labels.
func TestLearnedModelTakesTheOrderOfTheSwitch(t *testing.T) {
	c := kernel()
	c.Kernel, c.Seed = false, 0
	b := newBed(t, c)
	b.groups[dst] = members(1, 1, 1, 1, 1, 1, 1, 1)
	crc, err := ecmp.OfHash(ecmp.CRC32{}, 8)
	if err != nil {
		t.Fatal(err)
	}
	b.truth, b.onSwitch = crc, []int{5, 0, 3, 6, 1, 7, 2, 4} // no sum of bits; each order of four members is one
	for i := range 48 {
		b.add(hashed(uint32(0x100+i)), 1e6/float64(8+i))
	}
	learn := func() (float64, Report) {
		for range 600 {
			b.step(50 * time.Millisecond)
			for _, f := range b.flows {
				b.known[key(f)].Observe(b.link(f))
			}
		}
		return b.spread(), b.report()
	}
	without, r := learn()
	if r.Model != "observed" || r.Ordered || r.Lacks == nil || !strings.Contains(r.Lacks.Error(), "ASIC_DB has no next-hop group") {
		t.Errorf("in the order of the kernel: model %s, ordered %v, %v", r.Model, r.Ordered, r.Lacks)
	}
	before, name := b.labels(), r.Name
	b.program()
	b.step(50 * time.Millisecond)
	if r = b.report(); r.Model != "learned" || !r.Ordered || r.Lacks != nil || r.Name != name || r.Members[0].Name != "Ethernet20" {
		t.Errorf("the order is known: model %s, ordered %v, %v, name %s, members %+v", r.Model, r.Ordered, r.Lacks, r.Name, r.Members)
	}
	if !slices.Equal(before, b.labels()) {
		t.Error("labels changed with the order")
	}
	moves := r.Moves
	with, r := learn()
	if r.Model != "learned" || r.Degraded || with > 1.05 {
		t.Errorf("in the order of the switch: max ÷ mean %.3f, floor %.3f, model %s", with, r.Floor, r.Model)
	}
	t.Logf("max ÷ mean %.3f in the order of the kernel (model observed), %.3f in that of the switch after %d more moves; floor %.3f", without, with, r.Moves-moves, r.Floor)

	// A link goes down: orchagent takes it out of the group, and the switch counts the others.
	b.groups[dst] = members(1, 1, 1, 1, 0, 0, 0, 0)
	if crc, err = ecmp.OfHash(ecmp.CRC32{}, 4); err != nil {
		t.Fatal(err)
	}
	b.truth, b.onSwitch = crc, []int{0, 3, 1, 2}
	b.program()
	with, r = learn()
	if r.Model != "learned" || r.Degraded || r.Name != name || with > 1.05 {
		t.Errorf("four links are down: max ÷ mean %.3f, floor %.3f, model %s, name %s", with, r.Floor, r.Model, r.Name)
	}
}

// On a switch that does not tell by which ports packets leave, flows keep their labels, and
// the report says why.
func TestPathsThatAreNotTold(t *testing.T) {
	c := kernel()
	c.Kernel, c.Seed = false, 0
	b := newBed(t, c)
	b.zipf(32)
	before := maps.Clone(b.flows)
	b.run(20 * time.Second)
	if r := b.report(); !strings.Contains(r.Reason, "no sampled packet has told the port") || r.Moves != 0 || !maps.Equal(b.flows, before) {
		t.Errorf("reason %q, %d moves", r.Reason, r.Moves)
	}
	for _, f := range b.flows {
		b.known[key(f)].Observe(b.link(f))
		break
	}
	if r := b.report(); r.Reason != "" {
		t.Errorf("a path is known, and the reason is %q", r.Reason)
	}
}

// Destinations of which no flow has an entry are forgotten, and there are not too many of
// them.
func TestDestinationsAreBounded(t *testing.T) {
	b := newBed(t, kernel())
	b.zipf(4)
	a := netip.MustParseAddr("2001:db8:ffff::").As16()
	var dsts []netip.Addr
	for i := range mostDests + 100 {
		a[13], a[14], a[15] = byte(i>>16), byte(i>>8), byte(i)
		d := netip.AddrFrom16(a)
		b.groups[d] = b.groups[dst]
		dsts = append(dsts, d)
	}
	b.p.Prepare(dsts, b.now)
	if n := len(b.p.groups.dests); n > mostDests {
		t.Errorf("%d destinations", n)
	}
	b.run(readEvery + time.Second)
	if n := len(b.p.groups.dests); n != 1 || b.report().Flows != 4 {
		t.Errorf("%d destinations are known, flows go to 1", n)
	}
}

// A group of more members than a label is searched for: flows keep the labels of the hash,
// and the reason says so.
func TestGroupTooLarge(t *testing.T) {
	b := newBed(t, kernel())
	weights := make([]int, 5000)
	for i := range weights {
		weights[i] = 1
	}
	b.groups[dst] = members(weights...)
	f := hashed(1)
	if got := b.place(f); got.Label != f.Label {
		t.Errorf("label %#x, want %#x, that of the hash", got.Label, f.Label)
	}
	if r := b.report(); !strings.Contains(r.Reason, "5000 next hops") {
		t.Errorf("reason %q", r.Reason)
	}
	// One of many members that is not too large.
	b.groups[dst] = members(weights[:512]...)
	b.p.Stale(b.now)
	b.zipf(64)
	b.run(time.Second)
	if r := b.report(); r.Reason != "" || r.Unknown != 0 || len(r.Name) > longestName {
		t.Errorf("512 members: %q, %d paths are not known, name %q", r.Reason, r.Unknown, r.Name)
	}
}

// Polls take a small part of the time; one that had to wait for a processor makes the next
// ones hardly later.
func TestPaceKeepsPollsASmallShareOfTheTime(t *testing.T) {
	b := newBed(t, kernel())
	const idle = 50 * time.Millisecond
	for range 10 {
		if next := b.p.Pace(false, 200*time.Microsecond); next != idle/2 {
			t.Fatalf("next poll in %v", next)
		}
	}
	if next := b.p.Pace(false, 10*time.Millisecond); next > idle {
		t.Errorf("after one slow poll the next one is in %v", next)
	}
	var next time.Duration
	for range 100 {
		next = b.p.Pace(false, 10*time.Millisecond)
	}
	if next < 150*time.Millisecond || b.p.Pace(true, 10*time.Millisecond) > 60*time.Millisecond {
		t.Errorf("polls take 10 ms, and the next one is in %v", next)
	}
}
