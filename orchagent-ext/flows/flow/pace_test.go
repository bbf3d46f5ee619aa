// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/racetest"
)

// paced is traffic by the clock between two hosts: connections that begin at PSN 0 and send
// steadily, and are answered a round trip later, once in so many packets.
type paced struct {
	rates   []float64 // packets/s of each connection
	start   uint32    // PSN at which connection i begins: start × i
	every   int       // packets to one answer
	rttMs   float64
	samples [2]int  // the table sees one of so many requests, and of so many answers
	seconds float64 // that it lasts
	first   bool    // besides samples, all requests come within the rate first, and all answers
	window  int     // packets that are sent at once, when those before are answered; 0: steadily
	skewed  bool    // an answer may pass before the request that it answers
	seed    uint64
}

// timed is a packet of paced, and when it passes.
type timed struct {
	ns         int64
	answer     bool
	connection int
	psn        uint32
}

// first is what a switch sends to the CPU besides samples.
var first = clock.Rate{PerSecond: 2000, Burst: 256}

// run returns after how many seconds each connection was known, -1: never, and fails at the
// first wrong pair.
func (s paced) run(t *testing.T) (known []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.seed, 7))
	var all []timed
	for i, rate := range s.rates {
		for n := range uint32(rate * s.seconds) {
			at := int64((float64(n) + rng.Float64()/2) / rate * 1e9)
			arrives := at + int64(s.rttMs*1e6)
			if s.window > 0 { // a queue of the slower link paces the answers
				at -= int64(float64(n%uint32(s.window)) * (1e9/rate - 20e3))
			}
			all = append(all, timed{at, false, i, s.start*uint32(i) + n})
			if (n+1)%uint32(s.every) == 0 {
				at = arrives
				if s.skewed {
					at -= int64(rng.Float64() * s.rttMs * 1.2e6)
				}
				all = append(all, timed{at, true, i, s.start*uint32(i) + n})
			}
		}
		known = append(known, -1)
	}
	slices.SortStableFunc(all, func(a, b timed) int { return int(a.ns - b.ns) })
	table := NewTable(Config{Capacity: 64})
	var requests, answers clock.Bucket
	for _, p := range all {
		src, dst, h, rest := uint16(1), uint16(2), roce.BTH{Opcode: roce.RCSendMiddle, DestQP: 5000 + uint32(p.connection), PSN: p.psn & 0xffffff}, []byte(nil)
		sample := s.samples[0]
		if p.answer {
			src, dst, sample = 2, 1, s.samples[1]
			h.Opcode, h.DestQP, rest = roce.RCAck, 100+uint32(p.connection), roce.AETH{}.Append(nil)
		}
		whole := &requests
		if p.answer {
			whole = &answers
		}
		if seen := s.first && whole.Take(first, 1, p.ns) == 1; !seen && rng.IntN(sample) != 0 {
			continue
		}
		observe(t, table, frame(t, src, dst, h, rest), p.ns)
		if !p.answer {
			continue
		}
		for i := range known {
			k := knows(table, 5000+uint32(i))
			if k.from != None && k.qp != 100+uint32(i) {
				t.Fatalf("%+v: after %.2f s, connection %d: queue pair %d is wrong", s, float64(p.ns)/1e9, i, k.qp)
			}
			if k.from != None && known[i] < 0 {
				known[i] = float64(p.ns) / 1e9
			}
		}
	}
	return known
}

// TestFewAnswersAreEnough: adapters answer once in 8 or 16 packets, and many libraries begin
// every connection at PSN 0. Queue pairs are known a second after the flows begin to differ.
func TestFewAnswersAreEnough(t *testing.T) {
	all, sampled := [2]int{1, 1}, [2]int{256, 16}
	for _, tt := range []struct {
		name string
		paced
		within float64 // seconds
	}{
		{"one slow flow", paced{rates: []float64{100}, every: 16, rttMs: 20, samples: all}, 1},
		{"two from PSN 0, one starved", paced{rates: []float64{1750, 75}, every: 16, rttMs: 20, samples: all}, 1},
		{"two from PSN 0, of 4:3", paced{rates: []float64{2000, 1500}, every: 16, rttMs: 20, samples: all}, 1},
		{"two from PSN 0, of 4:3, near", paced{rates: []float64{2000, 1500}, every: 8, rttMs: .1, samples: all}, 1},
		{"eight from PSN 0", paced{rates: []float64{1000, 1300, 1700, 2200, 2900, 3800, 5000, 6500}, every: 16, rttMs: 5, samples: all}, 1},
		{"two 300 PSNs apart", paced{rates: []float64{1500, 1500}, start: 300, every: 16, rttMs: 20, samples: all}, 1},
		{"a sample of one", paced{rates: []float64{20000}, every: 16, rttMs: .1, samples: sampled}, 1},
		{"a sample of two far apart", paced{rates: []float64{20000, 20000}, start: 1 << 20, every: 16, rttMs: .1, samples: sampled}, 1},
		{"four in bursts, of which the end is not seen", paced{rates: slices.Repeat([]float64{568}, 4), start: 1 << 20, every: 4, rttMs: 1, samples: sampled, first: true, window: 64}, 1},
		{"sixteen that are seen in part", paced{rates: slices.Repeat([]float64{625}, 16), start: 1<<20 - 5000, every: 16, rttMs: 1, samples: sampled, first: true}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(5) {
				s := tt.paced
				s.seed, s.seconds = seed, tt.within
				for i, at := range s.run(t) {
					if at < 0 {
						t.Errorf("seed %d: connection %d of %.0f packets/s is not known after %.1f s", seed, i, s.rates[i], tt.within)
					}
				}
			}
		})
	}
}

// TestLockstepIsNeverGuessed: connections from PSN 0 that send alike look alike, however
// the packets are sampled and in whichever order rings are read.
func TestLockstepIsNeverGuessed(t *testing.T) {
	for _, samples := range [][2]int{{1, 1}, {2, 1}, {4, 1}, {16, 1}, {64, 4}, {256, 16}} {
		for seed := range racetest.Rounds[uint64](20, 5) {
			s := paced{every: 1 + int(seed%16), rttMs: []float64{.05, 1, 20}[seed%3], samples: samples, seconds: .5, skewed: true, seed: seed}
			for i := range 2 + seed%5 {
				s.rates = append(s.rates, 3000+10*float64(i*(seed%4)))
			}
			t.Run(fmt.Sprint(samples, seed), func(t *testing.T) { s.run(t) })
			s.first, s.window = true, []int{0, 16, 64, 256}[seed%4]
			t.Run(fmt.Sprint(samples, seed, "first"), func(t *testing.T) { s.run(t) })
		}
	}
}
