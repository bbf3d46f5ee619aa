// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

const bin = "../../bin"

// TestShortScenariosMeetTheirBars runs the short forms of scenarios, with all bars but those of
// times: `make rough` judges by the clock.
func TestShortScenariosMeetTheirBars(t *testing.T) {
	for _, file := range []string{"sluiced", "libsoftsai.so"} {
		if _, err := os.Stat(filepath.Join(bin, file)); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
	f, err := fabric.New()
	fabrictest.Check(t, err)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if !s.short {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			out := t.TempDir()
			r, err := s.play(t.Context(), bin, out, true)
			if err == nil {
				r.bars = slices.DeleteFunc(r.bars, func(b bar) bool { return b.text == shortTurns.text || b.text == drains.text })
				if missed := r.judge(); missed != "" {
					t.Error(missed)
				}
				text, _ := json.Marshal(r) // its figures
				t.Logf("%s", text)
			} else {
				t.Error(err)
			}
			if text, err := os.ReadFile(filepath.Join(out, s.name+".log")); err == nil && t.Failed() {
				t.Logf("sluiced wrote:\n%s", text)
			}
		})
	}
}

// The judge's own packets are RoCEv2: the daemon's parser, another implementation, reads them.
func TestFramesAreRoCEv2(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	f := newFlow(mac, mac, netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 0x123456, 4711, 64)
	f.next(time.Now())
	now := time.Now()
	frame := f.next(now)
	var p roce.Packet
	if err := p.Parse(frame, len(frame)); err != nil {
		t.Fatal(err)
	}
	if got, want, ok := p.ICRC(); !ok || got != want {
		t.Errorf("ICRC %#x, want %#x", got, want)
	}
	if p.DestQP() != 0x123456 || p.PSN() != 1 || p.SrcPort() != 4711 {
		t.Errorf("queue pair %#x, PSN %d, port %d", p.DestQP(), p.PSN(), p.SrcPort())
	}
	a, ok := parse(frame)
	if !ok || a.qp != 0x123456 || a.psn != 1 || a.label != 0 || !a.sent.Equal(time.Unix(0, now.UnixNano())) {
		t.Errorf("parsed %v: %+v", ok, a)
	}
	frame[atStamp+8]++
	if _, ok := parse(frame); ok {
		t.Error("a packet with another payload than it was sent with was taken")
	}
}

func TestJudgeCountsPacketsThatWereOvertaken(t *testing.T) {
	const limit = 25 * time.Millisecond
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	flow := newFlow(mac, mac, netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 7, 4711, 64)
	begin := time.Unix(1e9, 0)
	var sent [][]byte
	for i := range 6 {
		sent = append(sent, append([]byte(nil), flow.next(begin.Add(time.Duration(i)*time.Millisecond))...))
	}
	at := func(i int, took time.Duration) fabric.Frame {
		return fabric.Frame{Data: sent[i], Time: begin.Add(time.Duration(i)*time.Millisecond + took)}
	}
	for name, tt := range map[string]struct {
		frames []fabric.Frame
		want   arrivals
	}{
		"in order":       {[]fabric.Frame{at(0, 1), at(1, 1), at(2, 1)}, arrivals{packets: 3}},
		"one lost":       {[]fabric.Frame{at(0, 1), at(2, 1), at(3, 1)}, arrivals{packets: 3}},
		"overtaken":      {[]fabric.Frame{at(0, 1), at(3, 1), at(1, 10e6), at(2, 10e6), at(4, 1)}, arrivals{packets: 5, reordered: 2}},
		"held up":        {[]fabric.Frame{at(0, 1), at(3, 1), at(1, limit+1)}, arrivals{packets: 3, tooLong: 1}},
		"one came twice": {[]fabric.Frame{at(0, 1), at(1, 1), at(1, 2)}, arrivals{packets: 3, twice: 1}},
		"not a packet":   {[]fabric.Frame{{Data: []byte{1, 2, 3}}, at(0, 1)}, arrivals{packets: 1}},
	} {
		if got := judgeOrder(tt.frames, limit); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	// By the times at which packets were sent, which are 1 ms apart.
	if got, want := longestPause([]fabric.Frame{at(0, 1), at(1, 9e6), at(4, 1)}), 3*time.Millisecond; got != want {
		t.Errorf("longest pause %v, want %v", got, want)
	}
}

func TestFloorIsTheBestThatWholeFlowsAllow(t *testing.T) {
	same := func(n int) (all []float64) {
		for range n {
			all = append(all, 100)
		}
		return all
	}
	for name, tt := range map[string]struct {
		flows, weights []float64
		want           float64
	}{
		"48 over 2:1:1":     {same(48), []float64{2, 1, 1}, 1},
		"48 over 3:2:1":     {same(48), []float64{3, 2, 1}, 1},
		"48 over 1:1:2:2:4": {same(48), []float64{1, 1, 2, 2, 4}, 5 / 4.8},
		"60 over 1:1:2:2:4": {same(60), []float64{1, 1, 2, 2, 4}, 1},
		"5 over 2 equal":    {same(5), []float64{1, 1}, 3 / 2.5},
		"one large flow":    {[]float64{900, 100}, []float64{1, 1}, 1.8},
		"no octets":         {[]float64{0, 0}, []float64{1, 1}, 1},
	} {
		if got := floor(tt.flows, tt.weights); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s: floor %.4f, want %.4f", name, got, tt.want)
		}
	}
}

// The worst window is the one furthest above its own floor; windows begin at a mark, and last at
// least their span.
func TestWindowsAreJudgedByTheirOwnFloor(t *testing.T) {
	marks := []mark{
		{0, []uint64{0, 0}, []uint64{0, 0}},
		{time.Second, []uint64{100, 100}, []uint64{200, 0}}, // uneven, before the time
		{2 * time.Second, []uint64{200, 200}, []uint64{300, 100}},
		{3 * time.Second, []uint64{300, 300}, []uint64{410, 190}},
		{4 * time.Second, []uint64{500, 300}, []uint64{610, 190}}, // one flow alone
	}
	worst, n := windows(marks, []float64{1, 1}, time.Second, time.Second)
	if n != 3 || math.Abs(worst.worst-1.1) > 1e-9 || worst.floor != 1 {
		t.Errorf("%d windows, the worst %+v", n, worst)
	}
}

// Each bar fails a result that has no value for it, and one that misses it.
func TestBarsFailWithoutAValue(t *testing.T) {
	for _, b := range []bar{inOrder, lossless, unharmed, recovers, drains, even} {
		r := &result{bars: []bar{b}}
		if r.judge() == "" || r.OK || r.Bar != b.text {
			t.Errorf("%s holds without a value: %+v", b.text, r)
		}
	}
	one, low, high, slow := 1, 0.9, 51.0, 2501.0
	r := &result{Reordered: &one, Lost: &one, Victims: &low, RecoveredMS: &high, DrainedMS: &slow, WorstOverMean: &high, Floor: &low, Windows: 1}
	for _, b := range []bar{inOrder, lossless, unharmed, recovers, drains, even} {
		if b.holds(r) {
			t.Errorf("%s holds for %+v", b.text, r)
		}
	}
}
