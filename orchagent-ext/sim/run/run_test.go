// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/sim/load"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/wire/notify"
)

// spec is a small run.
func spec(t *testing.T, l load.Spec, feature string, base ...string) *Spec {
	t.Helper()
	topo, err := topology.New(topology.Shape{Hosts: 32, HostsPerLeaf: 8, Spines: 4, FabricGbit: 200})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Fill(32); err != nil {
		t.Fatal(err)
	}
	features, err := Split(feature, base)
	if err != nil {
		t.Fatal(err)
	}
	marks := congestion.Threshold{High: 16_000, Low: 8000, Action: notify.Reduce(100), Duration: time.Millisecond}
	return &Spec{
		Topology: topo, Load: l, Features: features, Seed: 1,
		Hold: network.Hold{Threshold: marks, Reaction: 20 * network.Microsecond, Room: 1 << 20},
		Advise: network.Advise{
			Threshold: marks, Target: congestion.Target{Bytes: 100_000, Delay: 10 * time.Microsecond, Min: 100},
			Pace: congestion.Pace{Interval: 50 * time.Microsecond, Lifetime: 4}, Reaction: 10 * network.Microsecond,
		},
	}
}

// do runs, without the time that the machine took.
func do(t *testing.T, s *Spec) *Result {
	t.Helper()
	r, err := Do(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.WallS = 0
	return r
}

// loads are all kinds, small.
var loads = []load.Spec{
	{Kind: "incast", Size: 16, DurationMS: 0.02, Background: 0.5},
	{Kind: "permutation", DurationMS: 0.02},
	{Kind: "ring", Size: 8, DurationMS: 0.02, Scattered: true},
	{Kind: "tree", Size: 8, DurationMS: 0.02, Scattered: true},
	{Kind: "all-to-all", DurationMS: 0.02},
	{Kind: "flows", Distribution: "hadoop", DurationMS: 0.05},
}

// TestEachFeatureFinishesEachLoad, and takes at least the load's duration; and the same run
// twice has the same result, to the octet.
func TestEachFeatureFinishesEachLoad(t *testing.T) {
	for _, l := range loads {
		for i, f := range Features {
			if l.Kind != "ring" && l.Kind != "incast" && i%4 != 0 {
				continue // the features act on packets: two kinds of loads have them all
			}
			s := spec(t, l, f, "pfc", "dcqcn")
			r := do(t, s)
			if r.Unfinished > 0 || r.Drops > 0 || r.FCTP99 < r.FCTP50 || r.FCTP50 <= 0 || r.SlowdownP50 < 0.99 {
				t.Errorf("%s, %s: %+v", l.Kind, f, r)
			}
			if l.Kind != "flows" && (r.SlowestS < 0.02e-3 || r.CollectiveS > r.SlowestS || r.CollectiveS <= 0) {
				t.Errorf("%s, %s: %v s, slowest %v s", l.Kind, f, r.CollectiveS, r.SlowestS)
			}
			if l.Kind == "incast" && f != "none" {
				a, _ := json.Marshal(r)
				b, _ := json.Marshal(do(t, spec(t, l, f, "pfc", "dcqcn")))
				if string(a) != string(b) {
					t.Errorf("%s, %s: two runs differ:\n%s\n%s", l.Kind, f, a, b)
				}
			}
		}
	}
}

// TestMessageThatWaitsForItsQueuePairIsLate: completion times count from when a message was to
// begin. Three messages of 1 MB come at once: the last one takes three times as long as the first.
func TestMessageThatWaitsForItsQueuePairIsLate(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	l := load.Spec{Kind: "replay", File: "trace", Trace: []load.Seen{{Src: b, Dst: a, Octets: 1, Start: 1, End: 1}}}
	for range 3 {
		l.Trace = append(l.Trace, load.Seen{Src: a, Dst: b, QP: 7, Octets: 1_000_000, Start: 1001, End: 1001})
	}
	r := do(t, spec(t, l, "none"))
	each := 1_000_000 * 8 / 100e9 * 4198 / 4096
	if got := r.FCT[len(r.FCT)-1].Seconds; math.Abs(got-3*each) > 0.1*each || r.Octets != 3_000_001 {
		t.Errorf("the last of three messages takes %v s, want %v; %d octets", got, 3*each, r.Octets)
	}
}

func TestInterruptedRunReturnsWhatThereIs(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Do(ctx, spec(t, load.Spec{Kind: "all-to-all", DurationMS: 0.2}, "none", "pfc"), func(part float64) {
		if part > 0.3 {
			cancel()
		}
	})
	if err != nil || r.Unfinished == 0 || r.Messages == 0 || r.CollectiveS != r.SimulatedS || r.SlowestS != r.SimulatedS {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSplitNamesUnknownFeatures(t *testing.T) {
	for name, want := range map[string]string{
		"none": "pfc dcqcn", "label+pfcm": "pfc dcqcn label pfcm", "pfc": "pfc", "dcqcn": "dcqcn", "label+dcqcn": "label dcqcn", "pfc+dcqcn": "pfc dcqcn",
	} {
		if got, err := Split(name, []string{"pfc", "dcqcn"}); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := Split("magic", nil); err == nil {
		t.Error("magic is a feature")
	}
}

// TestEachKindOfFabricCarriesARing, by placed labels and by rules to next hops: three tiers, rails,
// and two sites, whose link of 20 µs delays each step.
func TestEachKindOfFabricCarriesARing(t *testing.T) {
	for name, shape := range map[string]topology.Shape{
		"three tiers": {Tiers: 3, Hosts: 32, HostsPerLeaf: 4, Spines: 4, LeavesPerPod: 4, CoresPerSpine: 2},
		"rails":       {Hosts: 32, HostsPerLeaf: 8, Rails: 4, Spines: 4},
		"two sites":   {Hosts: 32, HostsPerLeaf: 8, Spines: 4, Sites: 2, WANLinks: 4, WANGbit: 200, WANUS: 20},
	} {
		for _, feature := range []string{"plan", "redirect"} {
			s := spec(t, load.Spec{Kind: "ring", Size: 8, DurationMS: 0.02, Scattered: true}, feature, "pfc", "dcqcn")
			var err error
			if s.Topology, err = topology.New(shape); err != nil {
				t.Fatal(err)
			}
			r := do(t, s)
			if r.Unfinished > 0 || r.Drops > 0 || r.UpWorst < 1 {
				t.Errorf("%s, %s: %+v", name, feature, r)
			}
			if name == "two sites" && r.SlowestS < 14*20e-6 {
				t.Errorf("%s: %v s for 14 steps over 20 µs", name, r.SlowestS)
			}
		}
	}
}

// TestQuantilesAreWithinWhatWasSeen: no part of the messages takes longer than the slowest of all, and
// no smaller part longer than a larger one.
func TestQuantilesAreWithinWhatWasSeen(t *testing.T) {
	all := append([]load.Spec{{Kind: "incast", Size: 8, DurationMS: 1, QueuePairs: 1}}, loads...)
	for _, l := range all {
		r := do(t, spec(t, l, "none", "pfc", "dcqcn"))
		last := 0.0
		for _, p := range r.FCT {
			if p.Seconds < last || p.Seconds > r.SlowestS {
				t.Errorf("%s: %.0f %% of the messages take %v s, the slowest of all %v s, a smaller part %v s", l.Kind, 100*p.Part, p.Seconds, r.SlowestS, last)
			}
			last = p.Seconds
		}
		if r.FCTP50 > r.FCTP99 || r.FCTP99 > r.SlowestS || r.FCTMean > r.SlowestS || r.SlowdownP50 > r.SlowdownP95 || r.SlowdownP95 > r.SlowdownP99 {
			t.Errorf("%s: %+v", l.Kind, r)
		}
	}
}
