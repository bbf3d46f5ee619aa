// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/switch/engine"
)

const seed = 4711

var (
	src = netip.MustParseAddr("2001:db8:1::1")
	dst = netip.MustParseAddr("2001:db8:2::1")
)

// bed is a switch whose hash is the kernel's, with traffic.
type bed struct {
	testing.TB
	p   *Placer
	now time.Time

	// What the network is.
	hash    ecmp.Kernel
	hashErr error
	groups  map[netip.Addr]*nexthops.Group
	readErr error
	reads   int
	truth   ecmp.Model // by which packets leave; nil: the kernel's, with hash
	sent    map[string]uint64

	programmed []nexthops.Programmed // by the switch; nil: it is the kernel
	onSwitch   []int                 // of the members on the switch: numbers in the kernel's group; nil: likewise

	received map[string]uint64
	spines   map[string]string
	prefixes map[netip.Prefix][]string

	known map[engine.FlowEntry]*Flow // the registry

	// What the switch has.
	flows   map[engine.FlowEntry]engine.FlowEntry // by the flow without label and source port
	order   []engine.FlowEntry
	rates   map[engine.FlowEntry]float64 // octets/s
	octets  map[engine.FlowEntry]uint64
	refuse  map[uint32]bool // DestQPs whose label cannot change
	held    map[uint32]bool // DestQPs
	resume  map[uint32]when // DestQPs that send again in the middle of a poll
	changes int
}

// when, around the change of its label, a flow sends a packet.
type when uint8

const (
	beforeLabel when = iota + 1
	whileLabel
)

func newBed(t testing.TB, c Config) *bed {
	b := &bed{
		TB: t, now: time.Unix(1e9, 0), hash: ecmp.Kernel{Seed: seed, Policy: ecmp.PolicyFields, Fields: ecmp.FiveTuple | ecmp.FieldLabel},
		groups: map[netip.Addr]*nexthops.Group{dst: members(1, 1, 1, 1)}, sent: map[string]uint64{}, flows: map[engine.FlowEntry]engine.FlowEntry{}, known: map[engine.FlowEntry]*Flow{},
		rates: map[engine.FlowEntry]float64{}, octets: map[engine.FlowEntry]uint64{}, refuse: map[uint32]bool{}, held: map[uint32]bool{},
	}
	b.start(c)
	return b
}

// kernel is the usual configuration. Flows move whenever that is of use.
func kernel() Config {
	return Config{Kernel: true, Seed: seed, Algorithm: flow.DraftLiteral, Table: placement.Config{Moves: placement.MovesAny, RateNS: 1e9, WindowNS: 2e8, IdleNS: 5e7}}
}

// start begins as a process does.
func (b *bed) start(c Config) {
	if b.p != nil {
		b.p.Release()
	}
	b.p = New(c, b, b, slog.New(slog.DiscardHandler), b.now)
}

// members are next hops by Ethernet0, 4, 8… with weights; 0: dead.
func members(weights ...int) *nexthops.Group {
	g := &nexthops.Group{}
	for i, w := range weights {
		g.Members = append(g.Members, nexthops.Member{Member: ecmp.Member{Weight: max(w, 1), Dead: w == 0}, Link: fmt.Sprint("Ethernet", 4*i), Index: i + 1})
	}
	return g
}

func (b *bed) Groups(dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	if b.reads++; b.readErr != nil {
		return nil, b.readErr
	}
	all := map[netip.Addr]nexthops.Result{}
	for _, d := range dsts {
		g := b.groups[d]
		if g == nil {
			all[d] = nexthops.Result{Err: errors.New("no route")}
			continue
		}
		all[d] = nexthops.Result{Group: g}
	}
	if b.onSwitch != nil {
		return nexthops.InSwitchOrder(all, b.programmed, nil), nil
	}
	return all, nil
}

// program has the members in the order of the switch where ASIC_DB has them.
func (b *bed) program() {
	var g nexthops.Programmed
	for _, i := range b.onSwitch {
		m := b.groups[dst].Members[i]
		g.Hops = append(g.Hops, nexthops.Hop{Link: m.Link, Gateway: m.Gateway, Weight: m.Weight})
	}
	b.programmed = []nexthops.Programmed{g}
	b.p.Stale(b.now)
}

func (b *bed) Hash() (ecmp.Kernel, error) { return b.hash, b.hashErr }

func (b *bed) Sent(link string) (uint64, bool) { return b.sent[link], true }

func (b *bed) Received(link string) (uint64, bool) { return b.received[link], true }

func (b *bed) Spine(link string) string { return b.spines[link] }

func (b *bed) Prefixes() (map[netip.Prefix][]string, error) { return b.prefixes, nil }

func (b *bed) Flows(yield func(*Flow) bool) {
	for _, f := range b.known {
		if !yield(f) {
			return
		}
	}
}

func (b *bed) Find(f engine.FlowEntry) *Flow { return b.known[key(f)] }

// remove takes a flow's entry off the switch.
func (b *bed) remove(f engine.FlowEntry) {
	b.known[key(f)].Leave()
	delete(b.known, key(f))
	delete(b.flows, key(f))
}

// enter gives a flow an entry, with the label that it has.
func (b *bed) enter(f engine.FlowEntry) *Flow {
	one := &Flow{FlowEntry: f}
	b.known[key(f)], b.flows[key(f)] = one, f
	return one
}

// place gives a flow an entry, with the label of placement, and returns that.
func (b *bed) place(f engine.FlowEntry) engine.FlowEntry {
	one := b.enter(f)
	b.p.Place(one, b.now)
	b.flows[key(f)] = one.FlowEntry
	return one.FlowEntry
}

func (b *bed) CountFlow(f engine.FlowEntry) (packets, octets uint64, err error) {
	if _, there := b.flows[key(f)]; !there {
		return 0, 0, engine.ErrGone
	}
	return 0, b.octets[key(f)], nil
}

// poll is a poll of the daemon.
func (b *bed) poll() (waiting bool, err error) {
	b.p.Poll(b.now)
	for f := range b.p.Placed {
		if _, octets, err := b.CountFlow(f.FlowEntry); err == nil {
			b.p.Sample(f, octets)
		}
	}
	moves, waiting := b.p.Moves(b.isHeld)
	return waiting, b.p.CarryOut(b, moves, b.now)
}

func (b *bed) Relabel(flows []engine.FlowEntry, each engine.EachLabel) (refused []engine.FlowEntry, err error) {
	for _, f := range flows {
		if b.resume[f.DestQP] == beforeLabel {
			b.octets[key(f)]++
		}
		if _, there := b.flows[key(f)]; !there || b.refuse[f.DestQP] || each.Before != nil && !each.Before(f) {
			refused = append(refused, f)
			continue
		}
		b.flows[key(f)] = f
		b.changes++
		if b.resume[f.DestQP] == whileLabel {
			b.octets[key(f)]++
		}
		if each.After != nil {
			each.After(f)
		}
	}
	return refused, nil
}

func (b *bed) isHeld(f engine.FlowEntry) bool { return b.held[f.DestQP] }

func hashed(qp uint32) engine.FlowEntry {
	f := engine.FlowEntry{Src: src, Dst: dst, DestQP: qp, SrcPort: 49152}
	f.Label = flow.DraftLiteral.Label(0, qp, src.As16(), dst.As16())
	return f
}

// add brings a flow to the switch, with a rate in octets/s.
func (b *bed) add(f engine.FlowEntry, rate float64) {
	b.place(f)
	b.rates[key(f)] = rate
	b.order = append(b.order, key(f))
}

// step lets the flows send for some time, and polls.
func (b *bed) step(d time.Duration) (waiting bool) {
	b.Helper()
	for k, f := range b.flows {
		n := uint64(b.rates[k] * d.Seconds())
		b.octets[k] += n
		if link := b.link(f); link != "" {
			b.sent[link] += n
		}
	}
	b.now = b.now.Add(d)
	waiting, err := b.poll()
	if err != nil {
		b.Fatal(err)
	}
	for k, f := range b.known {
		if f.FlowEntry != b.flows[k] {
			b.Errorf("the registry has %v, the switch %v", f.FlowEntry, b.flows[k])
		}
	}
	return waiting
}

// link is by which a flow leaves; "": by none.
func (b *bed) link(f engine.FlowEntry) string {
	b.Helper()
	g, m := b.groups[f.Dst], b.truth
	if g == nil {
		return ""
	}
	if m == nil {
		var err error
		if m, err = g.Model(b.hash); err != nil {
			b.Fatal(err)
		}
	}
	at, known := m.Predict(&ecmp.Tuple{Src: f.Src, Dst: f.Dst, Proto: 17, SrcPort: f.SrcPort, DstPort: 4791, FlowLabel: f.Label})
	if !known {
		return ""
	}
	if b.onSwitch != nil {
		at = b.onSwitch[at]
	}
	return g.Members[at].Link
}

// hashes is the model of the kernel with other settings.
func (b *bed) hashes(k ecmp.Kernel) ecmp.Model {
	b.Helper()
	m, err := b.groups[dst].Model(k)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// run polls for some time.
func (b *bed) run(d time.Duration) {
	b.Helper()
	const each = 50 * time.Millisecond
	for range d / each {
		b.step(each)
	}
}

// spread is the max ÷ mean by weight of what leaves by the links in a second.
func (b *bed) spread() float64 {
	b.Helper()
	before, changes := maps.Clone(b.sent), b.changes
	b.run(time.Second)
	if changes != b.changes {
		b.Logf("%d labels changed while it was measured", b.changes-changes)
	}
	var sum, weight, worst float64
	for _, m := range b.groups[dst].Members {
		n := float64(b.sent[m.Link] - before[m.Link])
		if sum += n; !m.Dead {
			weight += float64(m.Weight)
			worst = max(worst, n/float64(m.Weight))
		}
	}
	return worst / (sum / weight)
}

// want holds what leaves to a bar.
func (b *bed) want(what string, most float64) {
	b.Helper()
	if got := b.spread(); !(got <= most) {
		b.Errorf("%s: max ÷ mean %.3f, want at most %.2f", what, got, most)
	}
}

// labels are those that flows have now, in the order in which they came.
func (b *bed) labels() (all []uint32) {
	for _, k := range b.order {
		all = append(all, b.flows[k].Label)
	}
	return all
}

// report is that of the only group.
func (b *bed) report() Report {
	b.Helper()
	all := b.p.Reports()
	if len(all) != 1 {
		b.Fatalf("%d groups, want 1", len(all))
	}
	return all[0]
}

// zipf adds flows whose sizes follow Zipf's law.
func (b *bed) zipf(n int) {
	for i := range n {
		b.add(hashed(uint32(0x100+i)), 1e6/float64(i+1))
	}
}

// distinct checks that no two flows of a pair of hosts have one label.
func (b *bed) distinct() {
	b.Helper()
	all := b.labels()
	slices.Sort(all)
	if len(slices.Compact(all)) != len(b.flows) {
		b.Errorf("%d flows, and labels are not distinct", len(b.flows))
	}
}
