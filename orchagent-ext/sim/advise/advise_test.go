// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/scenario"
	"sluice/orchagent-ext/wire/notify"
)

// TestProposalsFollowTheFabric: by hand for 100 Gbit/s, links of 1 µs and a reaction of 10 µs.
func TestProposalsFollowTheFabric(t *testing.T) {
	s, err := scenario.Read(strings.NewReader("fabric: {hosts: 16, hosts_per_leaf: 4, spines: 2, fabric_gbit: 100, link_ns: 1000, switch_ns: 1000}\nhold: {reaction_us: 10}\nloads: [{kind: ring}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Proposal{}
	for _, p := range Propose(s) {
		got[p.Setting] = p
		if p.Why == "" || p.Longer == "" || p.Shorter == "" {
			t.Errorf("%+v lacks a reason or a cost", p)
		}
	}
	// Loop: 10 µs and a hop of 2 µs there and back; 12.5 octets/ns. Round trip: 4 links with 7 µs
	// each way, 4 packets of 336 ns and 4 acknowledgements of 8 ns.
	for setting, want := range map[string]string{
		"low_bytes": "179 kB", "high_bytes": "358 kB", "room_bytes": "354 kB", "duration_us": "40000", "target_bytes": "192 kB", "target_delay_us": "15", "buffer": "3.2 MB",
	} {
		if got[setting].Value != want {
			t.Errorf("%s is %s, want %s", setting, got[setting].Value, want)
		}
	}
	if p := got["low_bytes"]; !strings.Contains(p.Longer, "42µs") {
		t.Errorf("a loop of 14 µs that takes 56: %q", p.Longer)
	}
}

// TestProposedMarksKeepThePortBusy simulates them: a flow of 100 Gbit/s goes to a port of 50 behind a
// spine that holds it by PFCM. With the loop L that the marks are for, the port is never idle. With 4 L
// the low mark, which the port sends in 2 L, leaves it idle for 2 L of each hold: it takes 4 L until packets
// come, 4 L to the high mark at 50 Gbit/s, 4 L until the hold acts, and 6 L back to the low mark.
func TestProposedMarksKeepThePortBusy(t *testing.T) {
	s, err := scenario.Read(strings.NewReader("fabric: {hosts: 4, hosts_per_leaf: 2, spines: 1, fabric_gbit: 400}\nhold: {reaction_us: 50}\nloads: [{kind: ring}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	marks := congestion.Threshold{Action: notify.Reduce(100), Duration: 40 * time.Millisecond}
	for _, p := range Propose(s) {
		var kb uint64
		if _, err := fmt.Sscanf(p.Value, "%d kB", &kb); err == nil && p.Setting == "low_bytes" {
			marks.Low = kb * 1000
		} else if err == nil && p.Setting == "high_bytes" {
			marks.High = kb * 1000
		}
	}
	s.Topology().Links[4+2].PSPerOctet *= 2
	for times, want := range map[int64]float64{1: 1, 4: 16. / 18} {
		f := s.Topology()
		n := network.New(f, network.Config{Buffer: 1 << 30, Hold: &network.Hold{Threshold: marks, Reaction: times * 50 * network.Microsecond, Room: 1 << 29}})
		n.Delivered = func(qp int32, _ int64) { n.Send(qp, 4<<20) }
		qp := n.AddQP(0, 2, f.Pair(0, 1).First, f.Pair(1, 0).First, 100)
		n.Send(qp, 4<<20)
		n.Send(qp, 4<<20)
		n.Run(5 * network.Millisecond)
		before := n.Link(4 + 2).Octets
		n.Run(25 * network.Millisecond)
		if n.Stats.Holds == 0 || n.Stats.Drops+n.Stats.HoldDrops > 0 {
			t.Errorf("%+v", n.Stats)
		}
		if got := float64(n.Link(4+2).Octets-before) * 8 / 50e9 / 20e-3; math.Abs(got-want) > 0.02 {
			t.Errorf("with a loop of %d times the port is busy for %.3f of the time, want %.3f", times, got, want)
		}
	}
}
