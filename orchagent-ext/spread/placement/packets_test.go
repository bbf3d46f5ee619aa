// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// packetRun is 64 flows of a few packets up to 120 that each burst once a period at a moment of
// its own. A small flow's packets are further apart than makes it idle, and sizes vary.
type packetRun struct {
	period, burst, poll int64 // ns
	seed                uint64
	// stalls: now and then the machine does something else for 20 to 60 ms, and packets come late in
	// one go; and flows become known by their second packet
	stalls bool
}

// play returns max ÷ mean of the octets in the most uneven window of 2 s or two periods, of
// those that begin 5 s and three periods after the flows or later, and the moves.
func (r *packetRun) play(t *testing.T, weights []float64, sizes []int) (uneven float64, tab *Table) {
	t.Helper()
	const packet = 274
	random := rand.New(rand.NewPCG(r.seed, 2))
	tab = newTable(t, Config{WindowNS: 300e6, IdleNS: 25e6, MaxMoves: 8, Threshold: 1.05, Goal: 1.02, RateNS: 1e9}, weights...)
	hashed := newTable(t, Config{}, weights...)
	flows, phase := make([]Flow, len(sizes)), make([]int64, len(sizes))
	for i := range flows {
		flows[i], phase[i] = flowOf(i, 16), random.Int64N(r.period-r.burst+1)
		hashed.Enter(flows[i], -1, flows[i].hash())
	}
	type departure struct {
		at   int64
		flow int
	}
	from, span := 5*second+3*r.period, max(2*second, 2*r.period)
	var packets []departure
	for begin := int64(0); begin < from+3*span; begin += r.period {
		for i, n := range sizes {
			n += random.IntN(1+n/10) - n/20
			for k := range n {
				packets = append(packets, departure{begin + phase[i] + int64((float64(k)+float64(i%7)/7)/float64(n)*float64(r.burst)), i})
			}
		}
	}
	slices.SortStableFunc(packets, func(a, b departure) int { return int(a.at - b.at) })
	if r.stalls {
		for at := int64(0); at < from+3*span; at += 200e6 + random.Int64N(600e6) {
			until := at + 20e6 + random.Int64N(40e6)
			for i := range packets {
				if p := &packets[i]; p.at >= at && p.at < until {
					p.at = until
				}
			}
		}
		slices.SortStableFunc(packets, func(a, b departure) int { return int(a.at - b.at) })
	}
	sent := make([]int, len(flows))
	octets, carried, marks := make([]uint64, len(flows)), make([]float64, len(weights)), [][]float64(nil)
	entered := make([]bool, len(flows))
	poll := r.poll
	next := r.period
	for _, p := range packets {
		for ; poll <= p.at; poll += r.poll {
			for i, f := range flows {
				if entered[i] {
					tab.Sample(f, octets[i], poll)
				}
			}
			tab.Look(poll)
		}
		if p.at >= next {
			marks, next = append(marks, slices.Clone(carried)), next+r.period
		}
		f := flows[p.flow]
		sent[p.flow]++
		if !entered[p.flow] && (!r.stalls || sent[p.flow] > 1) {
			tab.Enter(f, -1, f.hash())
			entered[p.flow] = true
		}
		_, m, known := tab.Label(f)
		if known {
			octets[p.flow] += packet
		} else {
			_, m, _ = hashed.Label(f)
		}
		carried[m] += packet
	}
	steps := int(span / r.period)
	for i := int(from / r.period); i+steps < len(marks); i++ {
		worst, sum, weight := 0.0, 0.0, 0.0
		for m := range carried {
			c := marks[i+steps][m] - marks[i][m]
			worst, sum, weight = max(worst, c/weights[m]), sum+c, weight+weights[m]
		}
		uneven = max(uneven, worst/(sum/weight))
	}
	return uneven, tab
}

// The rates of flows that pause for seconds are those of whole periods, from the first one on, and
// are measured again before flows rest.
func TestBurstsOfSeconds(t *testing.T) {
	var sizes []int
	for i := range 64 {
		sizes = append(sizes, max(2, 120/(i+1)))
	}
	// The draws of sizes alone make up to 1.034 of an even split.
	const most = 1.045
	for _, tt := range []struct {
		stalls bool
		period int64
		draws  uint64
	}{{false, 1e9, 6}, {false, 3e9, 6}, {true, 1e9, 6}, {true, 3e9, 24}} {
		for seed := range tt.draws {
			r := packetRun{period: tt.period, burst: tt.period / 10, poll: 12.5e6, seed: seed, stalls: tt.stalls}
			uneven, tab := r.play(t, equal(4), sizes)
			text := fmt.Sprintf("%d ms, stalls %v, seed %d: %d moves, max ÷ mean %.3f", tt.period/1e6, tt.stalls, seed, tab.mover.counts.Moves, uneven)
			if uneven > most {
				t.Error(text)
			} else {
				t.Log(text)
			}
		}
	}
}
