// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// passing is a packet that passes a tap.
type passing struct {
	at     int64 // ns since 1970, by the kernel
	qp     uint32
	octets int // in the queue; less than 0: they leave it
}

// namedJudge knows by taps at gateway 2 how many octets each flow has in the queue, and which
// flows are named to their sender.
type namedJudge struct {
	mark int

	// Of one goroutine each, until the taps have ended.
	came, left []passing
	packet     [2]roce.Packet
	message    notify.Packet

	mu    sync.Mutex
	pairs [][]uint32      // DestQPs of elephants, by event
	names []passing       // each advice
	await map[uint32]bool // unnamed elephants of the event
	named context.CancelFunc
}

// newNamedJudge returns a judge that saw no packet.
func newNamedJudge() *namedJudge { return &namedJudge{mark: namedHigh} }

// begin begins an event with its elephants; named is called once both are.
func (j *namedJudge) begin(pair []nic.Flow, named context.CancelFunc) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.await, j.named = map[uint32]bool{}, named
	var qps []uint32
	for _, f := range pair {
		j.await[f.DestQP] = true
		qps = append(qps, f.DestQP)
	}
	j.pairs = append(j.pairs, qps)
}

// link takes a frame at the port to gateway 1: packets for the egress, and advice to the sender.
func (j *namedJudge) link(at int64, outgoing bool, frame []byte) {
	if !outgoing {
		j.came = record(j.came, &j.packet[0], at, frame, 1)
		return
	}
	if j.message.Parse(frame, notify.DefaultCodePoints()) != nil || j.message.Kind != notify.KindRateAdvice {
		return
	}
	qp := j.message.RateAdvice.DestinationQP - pathSource
	j.mu.Lock()
	defer j.mu.Unlock()
	j.names = append(j.names, passing{at: at, qp: qp})
	if j.await[qp] {
		if delete(j.await, qp); len(j.await) == 0 {
			j.named()
		}
	}
}

// host takes a frame at the egress.
func (j *namedJudge) host(at int64, outgoing bool, frame []byte) {
	if outgoing {
		j.left = record(j.left, &j.packet[1], at, frame, -1)
	}
}

// record appends a packet of a flow.
func record(list []passing, p *roce.Packet, at int64, frame []byte, sign int) []passing {
	if p.Parse(frame, len(frame)) != nil || p.DestQP() < namedBaseQP {
		return list
	}
	return append(list, passing{at, p.DestQP(), sign * len(frame)})
}

// crossings returns when each flow passed the mark on its way up.
func (j *namedJudge) crossings() map[uint32][]int64 {
	all := slices.Concat(j.came, j.left)
	slices.SortStableFunc(all, func(a, b passing) int { return cmp.Compare(a.at, b.at) })
	queued, up := map[uint32]int{}, map[uint32][]int64{}
	for _, p := range all {
		before := queued[p.qp]
		queued[p.qp] += p.octets
		if before <= j.mark && queued[p.qp] > j.mark {
			up[p.qp] = append(up[p.qp], p.at)
		}
	}
	return up
}

// namedFigures are the figures of the part "named" as JSON.
type namedFigures struct {
	N     int     `json:"n"` // elephants
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Wrong float64 `json:"wrong_percent"` // of the names: of flows that had less than the mark
	Names int     `json:"names"`
	// Unnamed elephants count as named at the end of the longest event.
	Unnamed int `json:"unnamed"`
	// Short: elephants that never had more than the mark, since the machine had no CPU for the sender
	Short int `json:"left_out_n"`
	// Early were named before they had more than the mark: they count with 0 ms.
	Early int `json:"early"`
	// Samples of the port a second, while elephants send
	Samples float64 `json:"samples_per_s"`
}

// figures sums a run up. A name is advice about a flow that got none while the one before could hold; it
// is right where the flow has more than the mark about then.
func (j *namedJudge) figures() (f namedFigures) {
	up, wrong := j.crossings(), 0
	named, last := map[uint32][]int64{}, map[uint32]int64{}
	for _, n := range j.names {
		if n.at-last[n.qp] > int64(wanLifetime) {
			named[n.qp] = append(named[n.qp], n.at)
			if f.Names++; len(between(up[n.qp], n.at-int64(namedLongest), n.at+int64(namedLongest))) == 0 {
				wrong++
			}
		}
		last[n.qp] = n.at
	}
	f.Samples = j.offered() / pathSampling
	var times []int64
	for _, qp := range slices.Concat(j.pairs...) {
		passed, at := up[qp], named[qp]
		if len(passed) == 0 {
			f.Short++
			continue
		}
		f.N++
		switch {
		case len(at) == 0:
			f.Unnamed++
			times = append(times, int64(namedLongest))
		case at[0] < passed[0]:
			f.Early++
			times = append(times, 0)
		default:
			times = append(times, at[0]-passed[0])
		}
	}
	slices.Sort(times)
	f.P50, f.P99 = percentile(times, .5)/1e6, percentile(times, .99)/1e6
	if f.Names > 0 {
		f.Wrong = 100 * float64(wrong) / float64(f.Names)
	}
	return f
}

// offered returns how many packets a second come for the egress while elephants send.
func (j *namedJudge) offered() float64 {
	packets, since, span, last := 0, 0, int64(0), int64(0)
	for _, p := range j.came {
		if since++; p.qp < namedQP {
			continue
		}
		if p.at-last < int64(wanRTT) { // of one pair
			packets, span = packets+since, span+p.at-last
		}
		since, last = 0, p.at
	}
	return float64(packets) / time.Duration(max(span, 1)).Seconds()
}

// medianNamed returns the medians of runs, and the sums of what is counted.
func medianNamed(all []namedFigures) *namedFigures {
	of := func(value func(namedFigures) float64) float64 { return median(all, value) }
	f := &namedFigures{
		P50: of(func(f namedFigures) float64 { return f.P50 }), P99: of(func(f namedFigures) float64 { return f.P99 }),
		Wrong: of(func(f namedFigures) float64 { return f.Wrong }), Samples: of(func(f namedFigures) float64 { return f.Samples }),
	}
	for _, one := range all {
		f.N, f.Names, f.Unnamed, f.Early, f.Short = f.N+one.N, f.Names+one.Names, f.Unnamed+one.Unnamed, f.Early+one.Early, f.Short+one.Short
	}
	return f
}

// print shows the figures to people.
func (f *namedFigures) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\nflows of 40 %% of a port, more than the mark in the queue → sender advised, %.0f samples a second: p50 %.0f ms, p99 %.0f ms, wrong %.2f %% of %d (n %d, not named %d)\n",
		f.Samples, f.P50, f.P99, f.Wrong, f.Names, f.N, f.Unnamed)
	return err
}

// judge checks the figures against their bars.
func (f *namedFigures) judge(full bool, check func(ok bool, format string, args ...any)) {
	check(f.N > 0 && f.Unnamed < f.N, "%d of %d flows that fill a queue were not named", f.Unnamed, f.N)
	check(!full || f.N >= 500, "%d flows were to be named: want at least 500", f.N)
	check(!full || f.P50 <= 50, "a flow is named after %.0f ms (p50): want at most 50", f.P50)
	check(!full || f.P99 <= 150, "a flow is named after %.0f ms (p99): want at most 150", f.P99)
	check(!full || f.Wrong <= 1, "%.2f %% of the names are wrong: want at most 1", f.Wrong)
}
