// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
)

// twoHops is a network with two next hops to every destination.
type twoHops struct{}

func (twoHops) Groups(dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	all := map[netip.Addr]nexthops.Result{}
	for _, d := range dsts {
		g := &nexthops.Group{}
		for _, link := range []string{"Ethernet0", "Ethernet4"} {
			g.Members = append(g.Members, nexthops.Member{Member: ecmp.Member{Weight: 1}, Link: link})
		}
		all[d] = nexthops.Result{Group: g}
	}
	return all, nil
}

func (twoHops) Hash() (ecmp.Kernel, error) {
	return ecmp.Kernel{Seed: 1, Policy: ecmp.PolicyFields, Fields: ecmp.FiveTuple | ecmp.FieldLabel}, nil
}
func (twoHops) Sent(string) (uint64, bool)                   { return 0, false }
func (twoHops) Received(string) (uint64, bool)               { return 0, false }
func (twoHops) Spine(string) string                          { return "" }
func (twoHops) Prefixes() (map[netip.Prefix][]string, error) { return nil, nil }

// Placement has its part in the flows of the registry: a row has the path of a flow, and a flow
// whose entry goes is forgotten at once, however it goes.
func TestFlowsThatLeaveTheRegistryLeavePlacement(t *testing.T) {
	now := time.Unix(1000, 0)
	var l Entries
	p := placer.New(placer.Config{Kernel: true, Algorithm: flow.DraftLiteral}, twoHops{}, &l, slog.New(slog.DiscardHandler), now)
	placed := func(want int) {
		t.Helper()
		got := 0
		for _, r := range p.Reports() {
			got += r.Flows
		}
		if got != want || l.Len() != want {
			t.Errorf("%d flows in the registry, %d placed, want %d", l.Len(), got, want)
		}
	}
	for qp := range uint32(4) {
		f := flowEntry(qp)
		f.SrcPort = 49152
		p.Place(&l.add(f, "Ethernet8", now).Flow, now)
	}
	placed(4)
	for _, r := range encoded(t, l.Rows(l.Heaviest(), func(engine.FlowEntry) uint16 { return 0 })) {
		if r.Fields["path"] != "Ethernet0" && r.Fields["path"] != "Ethernet4" {
			t.Errorf("a row has path %q", r.Fields["path"])
		}
	}
	l.remove(flowEntry(0))
	placed(3)
	gone := func(engine.FlowEntry) (uint64, uint64, error) { return 0, 0, engine.ErrGone }
	l.readCounters(gone, now, func() bool { return false })
	placed(2)

	// Another placer takes over the rest, with the labels that they have.
	p.Release()
	p = placer.New(placer.Config{Kernel: true, Algorithm: flow.DraftLiteral}, twoHops{}, &l, slog.New(slog.DiscardHandler), now)
	p.Poll(now)
	placed(2)
	l.Clear()
	placed(0)
}
