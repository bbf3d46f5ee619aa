// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
)

const second = int64(1e9)

func membersOf(weights ...float64) (m []Member) {
	for i, w := range weights {
		m = append(m, Member{fmt.Sprint("Ethernet", 4*i), w})
	}
	return m
}

func equal(n int) (w []float64) {
	for range n {
		w = append(w, 1)
	}
	return w
}

// kernel is the model of the kernel with this seed over next hops of these weights; 0: dead.
func kernel(tb testing.TB, seed uint32, weights ...float64) ecmp.Model {
	tb.Helper()
	var members []ecmp.Member
	for _, w := range weights {
		members = append(members, ecmp.Member{Weight: max(int(w), 1), Dead: w == 0})
	}
	g, err := ecmp.Threshold(members)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := ecmp.OfKernel(ecmp.Kernel{Seed: seed, Policy: ecmp.PolicyFields, Fields: ecmp.FiveTuple | ecmp.FieldLabel}, g)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func newTable(tb testing.TB, cfg Config, weights ...float64) *Table {
	tb.Helper()
	t := New(cfg)
	t.group(tb, kernel(tb, 1, weights...), weights...)
	return t
}

func (t *Table) group(tb testing.TB, m ecmp.Model, weights ...float64) (rerouted int) {
	tb.Helper()
	rerouted, err := t.SetGroup(m, membersOf(weights...))
	if err != nil {
		tb.Fatal(err)
	}
	return rerouted
}

// flowOf is the i-th flow of so many queue pairs a host pair.
func flowOf(i, pairs int) Flow {
	src, dst := netip.MustParseAddr("2001:db8:0:1::").As16(), netip.MustParseAddr("2001:db8:0:2::").As16()
	binary.BigEndian.PutUint16(src[14:], uint16(i/pairs/8+1))
	binary.BigEndian.PutUint16(dst[14:], uint16(i/pairs+1))
	return Flow{netip.AddrFrom16(src), netip.AddrFrom16(dst), uint32(i + 1), 49152}
}

func (f Flow) hash() uint32 {
	return flow.DraftLiteral.Label(0, f.DestQP, f.Src.As16(), f.Dst.As16())
}

// fill places flows of these rates (octets/s) and shows their counters for 10 s.
func (t *Table) fill(rates []float64) (flows []Flow) {
	for i := range rates {
		f := flowOf(i, 16)
		t.Place(f, i%max(t.cfg.Leaves, 1), f.hash())
		flows = append(flows, f)
	}
	t.run(flows, rates, 0, 10)
	return flows
}

// run shows the counters of flows that send at these rates, once a second.
func (t *Table) run(flows []Flow, rates []float64, begin, seconds int64) (now int64) {
	for s := begin; s <= begin+seconds; s++ {
		for i, f := range flows {
			if e := t.on.flows.lookup(&f); s == begin {
				t.Sample(f, e.meter.octets, s*second)
			} else {
				t.Sample(f, e.meter.octets+uint64(rates[i]), s*second)
			}
		}
	}
	return (begin + seconds) * second
}

// pause shows that flows send nothing for as long as makes them idle, and returns when.
func (t *Table) pause(flows []Flow, now int64) int64 {
	for _, at := range []int64{now + 1e6, now + 1e6 + t.cfg.IdleNS} {
		for _, f := range flows {
			t.Sample(f, t.on.flows.lookup(&f).meter.octets, at)
		}
		now = at
	}
	return now
}

// adopt takes over the flows with their hash labels, as the hash would have them.
func (t *Table) adopt(rates []float64) (flows []Flow) {
	for i := range rates {
		f := flowOf(i, 16)
		t.Adopt(f, i%max(t.cfg.Leaves, 1), f.hash(), f.hash())
		flows = append(flows, f)
	}
	t.run(flows, rates, 0, 10)
	return flows
}

func zipf(n int) (rates []float64) {
	for i := range n {
		rates = append(rates, 1e6/float64(i+1))
	}
	return rates
}

func same(n int) (rates []float64) {
	for range n {
		rates = append(rates, 1e6)
	}
	return rates
}

func lognormal(n int, sigma float64, seed uint64) (rates []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		rates = append(rates, 1e6*math.Exp(sigma*r.NormFloat64()))
	}
	return rates
}

// settle looks until nothing moves, at most so often, and returns the moves.
func (t *Table) settle(tb testing.TB, now *int64, flows []Flow, rates []float64, looks int) (moves int) {
	tb.Helper()
	for range looks {
		got := t.Look(*now)
		if len(got) == 0 {
			return moves
		}
		moves += len(got)
		*now = t.run(flows, rates, *now/second, 2)
	}
	tb.Errorf("still moving after %d looks, %d moves", looks, moves)
	return moves
}

// hold sets whether one flow is held.
func (t *Table) hold(f Flow, held bool) {
	t.SetHeld(func(g Flow, _ uint32) bool {
		if g == f {
			return held
		}
		return t.on.flows.lookup(&g).held
	})
}
