// SPDX-License-Identifier: Apache-2.0

package congestion

import (
	"math"
	"testing"
	"time"
)

// fluid is a bottleneck of 40 Gbit/s half a round trip of 20 ms behind its senders, in
// steps of 0.5 ms: each sender does what it was told last, and the queue serves the
// flows by what they have there. Rates are in Mbit/s, the queue in octets.
type fluid struct {
	rates []float64 // of the senders
	pipe  [][]float64
	mail  []advised

	depth, arrived, departed []float64
	advice                   []Advice
	queue                    float64

	paused bool    // the port sends nothing
	sent   float64 // octets in the last step
}

type advised struct {
	step, flow int
	rate       uint32
}

const (
	fluidStep     = 500 * time.Microsecond
	fluidOneWay   = int(10 * time.Millisecond / fluidStep)
	fluidInterval = int(10 * time.Millisecond / fluidStep)
	fluidPort     = 40_000.0   // Mbit/s
	fluidOctets   = 62.5       // of 1 Mbit/s in a step
	fluidHigh     = 20_000_000 // octets of a flow
)

var fluidPace = &Pace{Interval: time.Duration(fluidInterval) * fluidStep, Lifetime: 3}

func newFluid(rates []float64) *fluid {
	n := len(rates)
	f := &fluid{rates: rates, depth: make([]float64, n), arrived: make([]float64, n), departed: make([]float64, n), advice: make([]Advice, n)}
	for i := range rates { // a burst has brought all of them above the mark
		f.depth[i] = fluidHigh + 5_000_000
	}
	for range fluidOneWay {
		f.pipe = append(f.pipe, make([]float64, n))
	}
	return f
}

func (f *fluid) step(step int, t *Target, atArrival bool) {
	for len(f.mail) > 0 && f.mail[0].step <= step {
		f.rates[f.mail[0].flow] = float64(f.mail[0].rate)
		f.mail = f.mail[1:]
	}
	f.pipe = append(f.pipe, append([]float64(nil), f.rates...))
	f.queue = 0
	for i, rate := range f.pipe[0] {
		f.depth[i] += rate * fluidOctets
		f.arrived[i] += rate * fluidOctets
		f.queue += f.depth[i]
	}
	f.pipe = f.pipe[1:]
	f.sent = 0
	if f.queue > 0 && !f.paused {
		share := min(1, fluidPort*fluidOctets/f.queue)
		f.sent = f.queue * share
		f.queue *= 1 - share
		for i := range f.depth {
			f.departed[i] += f.depth[i] * share
			f.depth[i] -= f.depth[i] * share
		}
	}
	if step%fluidInterval != 0 {
		return
	}
	backlogged, now := 0, int64(step)*int64(fluidStep)
	for _, d := range f.depth {
		if d >= 1 {
			backlogged++
		}
	}
	told := uint32(0)
	for i := range f.advice {
		told += f.advice[i].Rate(now, fluidPace)
	}
	for i := range f.rates {
		octets := f.departed[i]
		if atArrival {
			octets = f.arrived[i]
		}
		m := Measured{Rate: uint32(math.Round(octets / float64(fluidInterval) / fluidOctets)), Depth: uint64(f.depth[i]), Flows: backlogged, Advised: told}
		f.arrived[i], f.departed[i] = 0, 0
		if rate := f.advice[i].Congestion(now, m.Depth > fluidHigh, m, t, fluidPace); rate != 0 {
			f.advice[i].Send(now, rate, fluidPace)
			f.mail = append(f.mail, advised{step + fluidOneWay, i, rate})
		}
	}
}

// What the loop comes to: the share of the port that was used and the deepest queue from
// 2 s on, and the most unequal share then.
func (f *fluid) run(t *Target, atArrival bool) (goodput, deepest, unfair float64) {
	const settled, steps = int(2 * time.Second / fluidStep), int(6 * time.Second / fluidStep)
	through, means := 0.0, make([]float64, len(f.rates))
	for step := range steps {
		before := append([]float64(nil), f.departed...)
		if step%fluidInterval == 0 {
			clear(before)
		}
		f.step(step, t, atArrival)
		if step < settled {
			continue
		}
		deepest = max(deepest, f.queue)
		for i, r := range f.rates {
			means[i] += r
			if step%fluidInterval != 0 {
				through += f.departed[i] - before[i]
			}
		}
	}
	goodput = through / (fluidPort * fluidOctets * float64(steps-settled) * float64(fluidInterval-1) / float64(fluidInterval))
	sum := 0.0
	for _, m := range means {
		sum += m
	}
	for _, m := range means {
		unfair = max(unfair, math.Abs(m/sum*float64(len(means))-1))
	}
	return goodput, deepest, unfair
}

// The decisions in a loop with a round trip of 20 ms and a target of one
// bandwidth-delay product: 2 flows that begin 70 to 1, and 16, are fair within 10 %
// after 2 s, fill the port, and keep no more than twice the target in the queue,
// however many they are. Measured at arrival the port is used less.
//
//conformance:draft-zz/queue
func TestAdvisedFlowsShareThePort(t *testing.T) {
	target := &Target{Bytes: 100_000_000, Delay: time.Hour, Min: 1, Port: 80_000}
	starts := map[string]func() []float64{
		"2 flows, 70 to 1": func() []float64 { return []float64{70_000, 1_000} },
		"16 flows": func() []float64 {
			rates := make([]float64, 16)
			for i := range rates {
				rates[i] = float64(1000 * (1 + i%10))
			}
			return rates
		},
	}
	for name, start := range starts {
		goodput, deepest, unfair := newFluid(start()).run(target, false)
		arrival, _, _ := newFluid(start()).run(target, true)
		t.Logf("%s: goodput %.3f (measured at arrival %.3f), deepest %.0f octets, shares within %.1f %%", name, goodput, arrival, deepest, 100*unfair)
		if goodput < 0.95 || deepest > 2*float64(target.Bytes) || unfair > 0.1 {
			t.Errorf("%s: goodput %.3f, want 0.95; deepest %.0f octets, want %d; shares within %.1f %%, want 10", name, goodput, deepest, 2*target.Bytes, 100*unfair)
		}
		if arrival >= goodput {
			t.Errorf("%s: measured at arrival the port is used by %.3f, no less than %.3f", name, arrival, goodput)
		}
	}
}

// A port that sends nothing for a while, as one that PFC pauses, is used again soon after: its senders were
// advised to all but stop, and their queue has drained before they send more. Steps of a hundredth of the
// port would leave most of it unused for seconds.
func TestAdvisedFlowsUseThePortAfterAPause(t *testing.T) {
	const begin, half = 3 * time.Second, 500 * time.Millisecond
	target := &Target{Bytes: 100_000_000, Delay: time.Hour, Min: 1, Port: uint32(fluidPort)}
	for _, c := range []struct {
		flows int
		used  float64 // from 0.2 s to 0.7 s after the pause
	}{{1, 0.85}, {2, 0.95}, {16, 0.99}} {
		rates := make([]float64, c.flows)
		for i := range rates {
			rates[i] = 2 * fluidPort / float64(c.flows)
		}
		f, used, drained, deepest := newFluid(rates), 0.0, false, 0.0
		for step := range int((begin + 4*half) / fluidStep) {
			at := time.Duration(step) * fluidStep
			f.paused = at >= begin && at < begin+300*time.Millisecond
			f.step(step, target, false)
			if at >= begin+half && at < begin+2*half {
				used += f.sent / (fluidPort * fluidOctets * float64(half/fluidStep))
			}
			if at > begin && !f.paused {
				drained = drained || f.queue < float64(target.Bytes)/2
			}
			if drained {
				deepest = max(deepest, f.queue)
			}
		}
		t.Logf("%d flows: %.2f of the port are used, deepest %.0f octets", c.flows, used, deepest)
		if used < c.used || !drained || deepest > 2*float64(target.Bytes) {
			t.Errorf("%d flows: %.2f of the port are used, want %.2f; deepest %.0f octets, want %d", c.flows, used, c.used, deepest, 2*target.Bytes)
		}
	}
}
