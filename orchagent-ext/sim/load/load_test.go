// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"net/netip"
	"strings"
	"testing"

	"sluice/orchagent-ext/sim/paths"
)

// play delivers messages in the order in which they began, and returns all of them.
func play(t *testing.T, p Program) (all []Message) {
	t.Helper()
	all = p.First(nil)
	for i := 0; i < len(all); i++ {
		all = p.Arrived(all, all[i].Tag)
		if len(all) > 1_000_000 {
			t.Fatal("the load has no end")
		}
	}
	return all
}

// TestLoadsSendWhatTheyShould: octets of each host, and what it sends to whom.
func TestLoadsSendWhatTheyShould(t *testing.T) {
	const hosts, rate = 24, 12.5e9
	for _, tt := range []struct {
		spec     Spec
		messages int
		octets   float64 // of all hosts
		groups   int
	}{
		{Spec{Kind: "incast", Size: 7, Groups: 2}, 2 * 7 * 4, 2 * 12.5e6, 2},
		{Spec{Kind: "incast", Size: 7, Groups: 2, Background: 0.5}, 2*7*4 + 8*4, (2 + 4) * 12.5e6, 3},
		{Spec{Kind: "permutation"}, 24 * 4, 24 * 12.5e6, 1},
		{Spec{Kind: "ring", Size: 8, Scattered: true}, 24 * 4 * 14, 24 * 12.5e6, 3},
		{Spec{Kind: "tree", Size: 8, QueuePairs: 2}, 3 * 7 * 2 * 2 * treeParts, 3 * 7 * 2 * 12.5e6, 3},
		{Spec{Kind: "all-to-all"}, 24 * 23 * 4, 24 * 12.5e6, 1},
	} {
		if err := tt.spec.Fill(hosts); err != nil {
			t.Fatal(err)
		}
		p := New(tt.spec, rate, 1)
		all := play(t, p)
		sum, listed := 0.0, map[paths.Connection]bool{}
		for _, c := range p.Connections() {
			listed[c] = true
		}
		groups := map[int32]bool{}
		for _, m := range all {
			sum += float64(m.Octets)
			groups[m.Group] = true
			if m.Src == m.Dst || !listed[m.Connection] {
				t.Fatalf("%s: a message of connection %+v", tt.spec.Kind, m.Connection)
			}
		}
		if math.Abs(p.Octets()-sum) > 0.01*sum {
			t.Errorf("%s: %.4g octets are announced of %.4g", tt.spec.Kind, p.Octets(), sum)
		}
		if len(all) != tt.messages || math.Abs(sum-tt.octets) > 0.01*tt.octets || len(groups) != tt.groups || p.Groups() != tt.groups {
			t.Errorf("%s: %d messages of %.4g octets in %d groups (%d); want %d, %.4g, %d", tt.spec.Kind, len(all), sum, len(groups), p.Groups(), tt.messages, tt.octets, tt.groups)
		}
	}
}

// TestRingWaitsForThePartBefore: no host is more than one step ahead of the one before it.
func TestRingWaitsForThePartBefore(t *testing.T) {
	s := Spec{Kind: "ring", QueuePairs: 1}
	if err := s.Fill(4); err != nil {
		t.Fatal(err)
	}
	p := New(s, 1e9, 1)
	p.First(nil)
	if got := p.Arrived(nil, 0); len(got) != 0 { // from 0 at 1: 1 sent its own, which is not there yet
		t.Errorf("begins %+v", got)
	}
	if got := p.Arrived(nil, 1); len(got) != 1 || got[0].Src != 1 {
		t.Errorf("begins %+v, want the second step of host 1", got)
	}
}

// TestFlowsHaveThePublishedMean, and the load that is asked for.
func TestFlowsHaveThePublishedMean(t *testing.T) {
	for name, want := range map[string]float64{"web-search": 1.71e6, "hadoop": 120.4e3} {
		if got := mean(distributions[name]); math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: mean %.4g, want %.4g", name, got, want)
		}
		s := Spec{Kind: "flows", Distribution: name, DurationMS: 100, LoadPercent: 40}
		if err := s.Fill(64); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, m := range New(s, 12.5e9, 1).First(nil) {
			sum += float64(m.Octets)
		}
		if load := sum / (64 * 12.5e9 * 0.1); math.Abs(load-0.4) > 0.04 {
			t.Errorf("%s: a load of %.3f, want 0.4", name, load)
		}
	}
}

func TestFillNamesWhatIsWrong(t *testing.T) {
	for _, s := range []Spec{{Kind: "gather"}, {Kind: "incast", Size: 10, Groups: 3}, {Kind: "ring", Size: 5}, {Kind: "flows"}, {Kind: "ring", Hosts: 65}} {
		if err := s.Fill(24); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// TestReplaySendsWhatWasSeen: addresses become hosts in their order, a record that lasts is sent in
// parts over its time, and from_ms, duration_ms and speed choose.
func TestReplaySendsWhatWasSeen(t *testing.T) {
	a, b, c := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	const ms = 1_000_000
	trace := []Seen{
		{Src: c, Dst: a, QP: 9, Octets: 2*part + 10, Start: 5 * ms, End: 11 * ms},
		{Src: a, Dst: b, QP: 5, Octets: 300, Start: 3 * ms, End: 3 * ms},
		{Src: a, Dst: b, QP: 6, Octets: 400, Start: 4 * ms, End: 4 * ms},
	}
	s := Spec{Kind: "replay", File: "x", Trace: trace, Speed: 2}
	if err := s.Fill(3); err != nil {
		t.Fatal(err)
	}
	want := []Message{
		{Connection: paths.Connection{Src: 0, Dst: 1, K: 0}, Octets: 300},
		{Connection: paths.Connection{Src: 0, Dst: 1, K: 1}, Octets: 400, At: ms * 1000 / 2},
		{Connection: paths.Connection{Src: 2, Dst: 0, K: 0}, Octets: (2*part + 10) / 3, At: 2 * ms * 1000 / 2},
		{Connection: paths.Connection{Src: 2, Dst: 0, K: 0}, Octets: (2*part + 10) / 3, At: 4 * ms * 1000 / 2},
		{Connection: paths.Connection{Src: 2, Dst: 0, K: 0}, Octets: (2*part + 10) / 3, At: 6 * ms * 1000 / 2},
	}
	got := New(s, 12.5e9, 1).First(nil)
	if len(got) != len(want) || s.DurationMS != 3 {
		t.Fatalf("%+v in %v ms", got, s.DurationMS)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("message %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	some := Spec{Kind: "replay", File: "x", Trace: trace, FromMS: 1, DurationMS: 3}
	if err := some.Fill(3); err != nil || len(some.messages) != 2 || some.messages[0].At != 0 {
		t.Errorf("from 1 ms for 3 ms: %+v, %v", some.messages, err)
	}
	for _, bad := range []Spec{
		{Kind: "replay"}, {Kind: "replay", File: "x"}, {Kind: "replay", File: "x", Trace: trace, Speed: -1}, {Kind: "replay", File: "x", Trace: trace, FromMS: 100},
		{Kind: "replay", File: "x", Trace: []Seen{{Src: a, Dst: b, Octets: 1}, {Src: a, Dst: b, Octets: 1, Start: 2000 * ms}}},
	} {
		if err := bad.Fill(3); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	s.Trace = trace
	if err := s.Fill(2); err == nil || !strings.Contains(err.Error(), "3 addresses") {
		t.Errorf("three addresses on two hosts: %v", err)
	}
}
