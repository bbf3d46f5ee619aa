// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// burstRun is flows that each burst once a period at moments of their own.
type burstRun struct {
	next          func(*rand.Rand) float64 // periods until a flow's next burst; nil: 1
	period, burst int64                    // ns
	together      bool                     // all burst at once
	weights       []float64
	sizes         []float64 // octets of a burst
}

// play lets them burst for so long, samples as the daemon does, and returns the moves after
// 30 s, and max ÷ mean of the octets in the most uneven window of 2 s or two periods then.
func (r *burstRun) play(t *testing.T, seconds int64) (late int, uneven float64, tab *Table) {
	const poll, from = int64(25e6), 30 * second
	random := rand.New(rand.NewPCG(1, 2))
	tab = newTable(t, Config{WindowNS: 300e6, IdleNS: 50e6, MaxMoves: 8}, r.weights...)
	flows, phase := make([]Flow, len(r.sizes)), make([]int64, len(r.sizes))
	for i := range flows {
		flows[i] = flowOf(i, 16)
		tab.Enter(flows[i], -1, flows[i].hash())
		if !r.together {
			phase[i] = random.Int64N(r.period)
		}
	}
	ends := make([]int64, len(flows))
	octets, carried := make([]float64, len(flows)), make([]float64, len(r.weights))
	window, began := max(2*second, 2*r.period), from
	for now := poll; now <= seconds*second; now += poll {
		for i, f := range flows {
			if now >= phase[i] {
				ends[i], phase[i] = now+r.burst, phase[i]+r.period
				if r.next != nil {
					phase[i] = now + max(2*r.burst, int64(r.next(random)*float64(r.period)))
				}
			}
			if now < ends[i] {
				sent := r.sizes[i] * float64(poll) / float64(r.burst) * (0.95 + 0.1*random.Float64())
				octets[i] += sent
				_, m, _ := tab.Label(f)
				carried[m] += sent
			}
			tab.Sample(f, uint64(octets[i]), now)
		}
		moves := len(tab.Look(now))
		if now <= from {
			clear(carried)
			continue
		}
		late += moves
		if now-began >= window {
			worst, sum, weight := 0.0, 0.0, 0.0
			for m, c := range carried {
				worst, sum, weight = max(worst, c/r.weights[m]), sum+c, weight+r.weights[m]
			}
			uneven, began = max(uneven, worst/(sum/weight)), now
			clear(carried)
		}
	}
	return late, uneven, tab
}

// Flows that pause for longer than they send, each at moments of its own, come to rest.
func TestFlowsThatBurstSettle(t *testing.T) {
	var zipf, alike []float64
	for i := range 64 {
		zipf, alike = append(zipf, 1e6*max(2, 120/float64(i+1))), append(alike, 1e6)
	}
	for _, period := range []int64{1e8, 5e8, 1e9, 3e9} {
		for name, sizes := range map[string][]float64{"zipf": zipf, "alike": alike} {
			for _, together := range []bool{false, true} {
				r := burstRun{period: period, burst: max(period/10, 50e6), weights: equal(4), sizes: sizes, together: together}
				late, uneven, tab := r.play(t, 240)
				text := fmt.Sprintf("%d ms, %s, together %v: %d moves, %d after 30 s, max ÷ mean %.3f", period/1e6, name, together, tab.mover.counts.Moves, late, uneven)
				if late > 8 || uneven > 1.05 {
					t.Error(text)
				} else {
					t.Log(text)
				}
			}
		}
	}
}

// Flows whose bursts come at random have no rate that lasts, and are moved seldom.
func TestFlowsThatBurstAtRandomMoveSeldom(t *testing.T) {
	var sizes []float64
	for i := range 64 {
		sizes = append(sizes, 1e6*max(2, 120/float64(i+1)))
	}
	for name, tt := range map[string]struct {
		next func(*rand.Rand) float64
		most int
	}{
		"half a period to one and a half": {func(r *rand.Rand) float64 { return 0.5 + r.Float64() }, 100},
		"exponential":                     {func(r *rand.Rand) float64 { return r.ExpFloat64() }, 250},
	} {
		r := burstRun{period: second, burst: 100e6, weights: equal(4), sizes: sizes, next: tt.next}
		late, uneven, tab := r.play(t, 240)
		text := fmt.Sprintf("%s: %d moves, %d after 30 s, max ÷ mean %.3f", name, tab.mover.counts.Moves, late, uneven)
		if late > tt.most {
			t.Error(text)
		} else {
			t.Log(text)
		}
	}
}
