// SPDX-License-Identifier: Apache-2.0

package redirect_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/spread/redirect"
)

const (
	simulatedUplinks = 8
	ruleTime         = 15 * time.Millisecond
	step             = 5 * time.Millisecond
	tick             = 100 * time.Millisecond
)

// simulated is a switch with rules that take their time, and flows with rates.
type simulated struct {
	table   *redirect.Table
	random  *rand.Rand
	rates   []float64 // of flows; the sum is 1
	until   []float64 // running sums of rates
	hash    []int
	at      []int // member where the flow is
	applied map[redirect.Flow]string
	busy    time.Duration // until when the switch works on rules
	queue   []change
	now     time.Duration
	samples float64 // a second
}

type change struct {
	flow int
	to   int
	at   time.Duration
}

func flowOf(i int) redirect.Flow {
	return redirect.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.1.0.2"), SrcPort: uint16(49152 + i)}
}

func names(n int) (all []redirect.Member) {
	for i := range n {
		all = append(all, redirect.Member{Name: fmt.Sprint("up", i), Weight: 1})
	}
	return all
}

func simulate(seed uint64, rates []float64, samples float64, c redirect.Config) *simulated {
	s := &simulated{table: redirect.NewTable(c), random: rand.New(rand.NewPCG(seed, 7)), applied: map[redirect.Flow]string{}, samples: samples}
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	running := 0.0
	for _, r := range rates {
		running += r / sum
		s.rates, s.until = append(s.rates, r/sum), append(s.until, running)
		s.hash = append(s.hash, s.random.IntN(simulatedUplinks))
	}
	s.at = append(s.at, s.hash...)
	s.table.SetMembers(names(simulatedUplinks))
	return s
}

// run lets time pass.
func (s *simulated) run(span time.Duration) {
	for end := s.now + span; s.now < end; {
		s.now += step
		for len(s.queue) > 0 && s.queue[0].at <= s.now {
			s.at[s.queue[0].flow] = s.queue[0].to
			s.queue = s.queue[1:]
		}
		for range s.poisson(s.samples * step.Seconds()) {
			i := s.pick()
			s.table.Sample(flowOf(i), 1, fmt.Sprint("up", s.at[i]), 1000, int64(s.now)+1)
		}
		if s.now%tick == 0 && s.now >= s.busy {
			s.table.Decide(int64(s.now)+1, 4)
			s.apply()
		}
	}
}

// apply has the switch carry out what differs, one rule after the other.
func (s *simulated) apply() {
	want := map[redirect.Flow]string{}
	for _, r := range s.table.Rules() {
		want[r.Flow] = r.Member
	}
	s.busy = s.now
	for i := range s.rates {
		f := flowOf(i)
		if s.applied[f] == want[f] {
			continue
		}
		s.busy += ruleTime
		to := s.hash[i]
		if name, ruled := want[f]; ruled {
			_, _ = fmt.Sscanf(name, "up%d", &to)
			s.applied[f] = name
		} else {
			delete(s.applied, f)
		}
		s.queue = append(s.queue, change{i, to, s.busy})
	}
}

func (s *simulated) poisson(mean float64) (n int) {
	for t := s.random.ExpFloat64(); t < mean; t += s.random.ExpFloat64() {
		n++
	}
	return n
}

func (s *simulated) pick() int {
	x, low, high := s.random.Float64(), 0, len(s.until)-1
	for low < high {
		if mid := (low + high) / 2; s.until[mid] < x {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func evenness(rates []float64, at []int) float64 {
	loads := make([]float64, simulatedUplinks)
	for i, r := range rates {
		loads[at[i]] += r
	}
	worst := 0.0
	for _, l := range loads {
		worst = max(worst, l)
	}
	return worst * simulatedUplinks
}

func equal(n int) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = 1
	}
	return r
}

func zipf(n int) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = 1 / float64(i+1)
	}
	return r
}

// The table of the design: max ÷ mean, the mean of 20 seeds.
func TestTableEvensOutSimulatedLoads(t *testing.T) {
	for _, c := range []struct {
		name    string
		rates   []float64
		samples float64
		after   time.Duration
		most    float64 // max ÷ mean
		rules   float64
	}{
		{"64 equal flows, 10,000 samples/s", equal(64), 10000, 2 * time.Second, 1.03, 12},
		{"64 equal flows, 1000 samples/s", equal(64), 1000, 5 * time.Second, 1.13, 12},
		{"256 equal flows, 10,000 samples/s", equal(256), 10000, 5 * time.Second, 1.07, 20},
		{"256 equal flows, 1000 samples/s", equal(256), 1000, 5 * time.Second, 1.17, 20},
		{"64 Zipf flows, 10,000 samples/s", zipf(64), 10000, 3 * time.Second, 1.02, 12},
		{"64 Zipf flows, 1000 samples/s", zipf(64), 1000, 3 * time.Second, 1.06, 12},
		{"256 Zipf flows, 10,000 samples/s", zipf(256), 10000, 3 * time.Second, 1.07, 27},
		{"256 Zipf flows, 1000 samples/s", zipf(256), 1000, 5 * time.Second, 1.07, 36},
	} {
		t.Run(c.name, func(t *testing.T) {
			const seeds = 20
			var hash, early, placed, rules, floor, moves float64
			for seed := range uint64(seeds) {
				s := simulate(seed, c.rates, c.samples, redirect.Config{Moves: redirect.MovesAny})
				f := max(1, s.rates[0]*simulatedUplinks)
				hash += evenness(s.rates, s.hash) / f / seeds
				s.run(c.after / 2)
				early += evenness(s.rates, s.at) / f / seeds
				s.run(c.after - c.after/2)
				placed += evenness(s.rates, s.at) / f / seeds
				rules += float64(len(s.table.Rules())) / seeds
				moves += float64(s.table.Counts().Moves) / seeds
				floor += f / seeds
			}
			t.Logf("÷ floor %.2f: hash %.2f, after %v %.3f, after %v %.3f; %.1f rules, %.1f moves", floor, hash, c.after/2, early, c.after, placed, rules, moves)
			if placed > c.most || rules > c.rules {
				t.Errorf("max ÷ mean ÷ floor is %.3f with %.1f rules: want at most %.2f with %.0f", placed, rules, c.most, c.rules)
			}
		})
	}
}
