// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"sluice/orchagent-ext/spread/ecmp"
)

// The trace is of amd64: other architectures fuse a multiplication and an addition, which rounds
// otherwise.
const decisionsFile = "testdata/decisions.txt"

var record = flag.Bool("record", false, "write "+decisionsFile+" in place of comparing with it")

// A trace has the calls of a table, with their arguments and results: a line for so many steps.
type trace struct {
	*Table
	name  string
	sum   hash.Hash
	steps int
	moves int
	lines strings.Builder
}

// stepsPerLine is how many looks a line of a trace has.
const stepsPerLine = 100

func newTrace(name string, cfg Config) *trace {
	return &trace{Table: New(cfg), name: name, sum: sha256.New()}
}

func (d *trace) note(call string, values ...any) {
	fmt.Fprintln(d.sum, append([]any{call}, values...)...)
}

func (d *trace) place(f Flow, leaf int, label uint32) {
	d.note("place", f, leaf, label, d.Place(f, leaf, label))
}

func (d *trace) enter(f Flow, leaf int, label uint32) {
	d.note("enter", f, leaf, label, d.Enter(f, leaf, label))
}

// look takes a decision, and each hundredth time writes a line.
func (d *trace) look(now int64) []Move {
	moves := d.Look(now)
	d.note("look", now, moves, d.Watching())
	d.moves += len(moves)
	if d.steps++; d.steps%stepsPerLine == 0 {
		d.line()
	}
	return moves
}

// line writes the sum of all calls so far, with the report.
func (d *trace) line() {
	r := d.Report()
	d.note("report", r.Load, r.Hash, r.On, r.WorstOverMean, r.HashWorstOverMean, r.Floor, r.Flows, r.Unknown, r.Held, r.ModelErrorPercent, r.Degraded,
		r.Placements, r.Adopted, r.Shared, r.Looks, r.Deferred, r.Moves, r.Unsafe, r.Undone, r.Unreachable, r.Waiting, r.NoBetter, r.Stray, r.ClockSteps, r.CounterResets, r.Degradations, r.QuotasRefused)
	fmt.Fprintf(&d.lines, "%s: %d looks, %d moves, %x\n", d.name, d.steps, d.moves, d.sum.Sum(nil)[:8])
}

// bursts are flows that burst, each at moments of its own, seen by samples.
func bursts(t *testing.T, name string, period int64, cfg Config, jitter float64) string {
	const poll = int64(25e6)
	random := rand.New(rand.NewPCG(7, uint64(period)))
	weights := []float64{2, 1, 1, 3}
	d := newTrace(name, cfg)
	d.group(t, kernel(t, 3, weights...), weights...)
	flows, phase := make([]Flow, 48), make([]int64, 48)
	ends, octets := make([]int64, len(flows)), make([]float64, len(flows))
	for i := range flows {
		flows[i], phase[i] = flowOf(i, 16), random.Int64N(period)
		d.enter(flows[i], -1, flows[i].hash())
	}
	for now := poll; now <= 60*second; now += poll {
		for i, f := range flows {
			if now >= phase[i] {
				ends[i] = now + period/8
				phase[i] += int64(float64(period) * (1 - jitter/2 + jitter*random.Float64()))
			}
			if now < ends[i] {
				octets[i] += 1e7 / float64(i+2) * (0.9 + 0.2*random.Float64())
			}
			d.Sample(f, uint64(octets[i]), now)
		}
		for _, m := range d.look(now) {
			if random.IntN(20) == 0 {
				d.Cancel(m)
			}
		}
	}
	d.line()
	return d.lines.String()
}

// churn calls everything in random order.
func churn(t *testing.T, name string, seed uint64, cfg Config, model func(members int, weights []float64) ecmp.Model) string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 11))
	d := newTrace(name, cfg)
	octets, members := map[Flow]uint64{}, 0
	regroup := func() {
		members = 2 + random.IntN(7)
		weights := make([]float64, members)
		for i := range weights {
			weights[i] = float64(random.IntN(4))
		}
		d.note("group", weights, d.group(t, model(members, weights), weights...))
	}
	d.place(flowOf(3, 25), -1, 9)
	regroup()
	now := second
	for range 6000 {
		f := flowOf(random.IntN(120), 25)
		now += random.Int64N(200e6)
		switch k := random.IntN(100); {
		case k < 20:
			d.place(f, random.IntN(5)-1, uint32(random.IntN(300)))
		case k < 30:
			d.enter(f, random.IntN(5)-1, uint32(random.IntN(300)))
		case k < 34:
			label := uint32(random.IntN(1 << 21))
			d.note("adopt", d.Adopt(f, random.IntN(5)-1, f.hash(), label))
		case k < 40:
			d.Forget(f)
			delete(octets, f)
		case k < 44:
			d.SetLeaf(f, random.IntN(6)-1)
		case k < 48:
			by := uint32(1 + random.IntN(9))
			d.SetHeld(func(f Flow, _ uint32) bool { return f.DestQP%by == 1 })
		case k < 52:
			sent := make([]uint64, members)
			for m := range sent {
				sent[m] = uint64(random.IntN(1 << 24))
			}
			d.note("check", d.Check(sent) == nil)
		case k < 53:
			regroup()
		case k < 54 && cfg.Leaves > 0:
			var quotas []Quota
			for range 12 {
				q := Quota{random.IntN(5), Class(1e6) + random.IntN(5), make([]uint32, members)}
				q.Flows[random.IntN(members)] = uint32(random.IntN(9))
				quotas = append(quotas, q)
			}
			d.note("quotas", d.SetQuotas(quotas))
		case k < 55:
			d.SetQuotas(nil)
		case k < 57:
			c := cfg
			c.Moves, c.MaxMoves, c.Threshold = Moves(random.IntN(3)), 1+random.IntN(9), 1.02+random.Float64()/10
			d.Tune(c)
		case k < 60:
			d.Observe(f, random.IntN(members))
		case k < 61:
			d.Unchecked()
		case k < 75:
			for i := range 120 { // a pause of all
				f := flowOf(i, 25)
				d.Sample(f, octets[f], now)
				d.Sample(f, octets[f], now+60e6)
			}
			now += 60e6
		default:
			for i := range 120 {
				if f := flowOf(i, 25); random.IntN(3) > 0 {
					octets[f] += uint64(1e9/float64(i+1)) + uint64(random.IntN(1000))
					d.Sample(f, octets[f], now)
				}
			}
		}
		for _, m := range d.look(now) {
			switch random.IntN(30) {
			case 0:
				d.Undo(m)
			case 1:
				d.Cancel(m)
			case 2:
				d.Overtaken(m)
			}
		}
		label, member, ok := d.Label(f)
		d.note("label", label, member, ok, d.Len())
	}
	d.line()
	return d.lines.String()
}

// All decisions of a table are those on record: for each change that is to keep them as they are.
func TestDecisionsAreThoseOnRecord(t *testing.T) {
	known := func(seed uint32) func(int, []float64) ecmp.Model {
		return func(_ int, weights []float64) ecmp.Model { return kernel(t, seed, weights...) }
	}
	windows := Config{WindowNS: 300e6, IdleNS: 50e6, MaxMoves: 8}
	got := bursts(t, "bursts of 100 ms", 1e8, windows, 0) +
		bursts(t, "bursts of 1 s", 1e9, windows, 0) +
		bursts(t, "bursts of 3 s", 3e9, windows, 0.02) +
		bursts(t, "bursts at random", 1e9, windows, 1) +
		bursts(t, "bursts, moves any", 1e9, Config{WindowNS: 300e6, Moves: MovesAny, MaxMoves: 2}, 0.1) +
		churn(t, "churn", 1, Config{Capacity: 100, MaxMoves: 5, RestNS: 3e8}, known(1)) +
		churn(t, "churn with leaves", 2, Config{Capacity: 100, Leaves: 4, Largest: 20}, known(2)) +
		churn(t, "churn with windows", 3, Config{Leaves: 4, WindowNS: 200e6, Moves: MovesAny}, known(3)) +
		churn(t, "churn, observed", 4, Config{Leaves: 4, RestNS: 1, Moves: MovesAny}, func(int, []float64) ecmp.Model { return ecmp.NewObserved(200) }) +
		churn(t, "churn, learned", 5, Config{RestNS: 1, Moves: MovesAny}, func(n int, _ []float64) ecmp.Model { return ecmp.NewLinear(n) })
	if *record {
		if err := os.WriteFile(decisionsFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(decisionsFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("%s:%d: the first line that differs, now %q: another decision in the looks of that line", decisionsFile, i+1, line)
		}
	}
	if len(strings.Split(got, "\n")) != len(lines) {
		t.Errorf("%s has lines more", decisionsFile)
	}
}
