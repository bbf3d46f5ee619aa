// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/orchagent-ext/hold/dcqcn"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// sampled is a sender of DCQCN of which the CPU gets few packets, as of a busy switch.
type sampled struct {
	f        *fake
	model    dcqcn.Rate
	random   *rand.Rand
	one      int // packet of so many is sampled
	credit   float64
	octets   uint64 // sent
	pending  uint64 // octets of samples that are not reported
	samples  uint32
	reported int64

	late  int64     // reports wait for up to so long and come together
	held  []Learned // that wait
	until int64     // when they come
}

// The flow offers 25 Mbit/s on a link of 200 Mbit/s, in packets of 1100 octets; a flow is
// reported at most each 20 ms.
const (
	sampledRate, sampledLine = 25_000_000, 200_000_000
	sampledOctets            = 1100
)

// until sends in steps of 50 µs.
func (s *sampled) send(end int64) {
	const step = 10_000
	for s.f.now < end {
		s.f.until(s.f.now + step)
		if s.f.now >= s.until {
			for i := range s.held {
				s.f.core.learn(s.f.now, s.held[i])
			}
			s.held = s.held[:0]
		}
		for range s.f.cnps() {
			s.model.Notify(s.f.now, sampledRate, sampledLine)
		}
		s.credit += float64(min(s.model.At(s.f.now), sampledRate)) / 8 * step / 1e9
		for ; s.credit >= sampledOctets; s.credit -= sampledOctets {
			s.model.Sent(sampledOctets)
			s.octets += sampledOctets
			if s.random.IntN(s.one) > 0 {
				continue
			}
			s.pending += uint64(sampledOctets * s.one)
			s.samples++
			if s.f.now-s.reported < 20*ms {
				continue
			}
			l := flowOf(sender, sink)
			l.Packet.Octets, l.Packet.Samples, l.Packet.At = s.pending, s.samples, s.f.now
			if len(s.held) == 0 {
				s.until = s.f.now + s.random.Int64N(s.late+1)
			}
			s.held = append(s.held, l)
			s.pending, s.samples, s.reported = 0, 0, s.f.now
		}
	}
}

// A flow that is known for long is known well: of 1 packet of 16 for 8 s all reductions settle within
// a fifth of the asked rate, and their mean is within 5 % of it.
func TestReductionOfAFlowThatIsKnownForLong(t *testing.T) {
	const runs = 8
	sum := 0.
	for seed := range uint64(runs) {
		one := reduced(t, seed, 50, 0, 8000*ms)
		if sum += one; one < 0.8 || one > 1.2 {
			t.Errorf("%.2f of the asked rate", one)
		}
	}
	if t.Logf("mean %.3f", sum/runs); sum < runs*0.95 || sum > runs*1.05 {
		t.Errorf("on average %.3f of the asked rate", sum/runs)
	}
}

// reduced returns the settled rate of a flow that is reduced by some percent after a time in which it
// is learned, as a part of the asked rate. Samples come up to late ns late.
func reduced(t *testing.T, seed uint64, percent int, late, learn int64) float64 {
	t.Helper()
	c := slowing()
	c.Ports[2].Speed, c.HoldLimit = sampledLine/1_000_000, 0
	s := &sampled{f: newFake(t, c), random: rand.New(rand.NewPCG(seed, 1)), one: 16, late: late}
	s.send(learn)
	begin, before := s.f.now, uint64(0)
	for s.f.now < begin+2000*ms {
		m := pause(streamOf(5), 60_000)
		m.Action = notify.Reduce(percent)
		s.f.receive(down1, m)
		s.send(s.f.now + 30*ms)
		if s.f.now <= begin+500*ms {
			before = s.octets
		}
	}
	return float64(s.octets-before) / (sampledRate / 8 * float64(100-percent) / 100 * 1.5)
}

// A reduction settles near the asked rate although the CPU gets one packet of 16, some 90 to
// 180 a second, and flow control takes them up to 300 ms later, many at once: the median of
// five runs within a tenth of it, none further off than a third.
func TestReductionBySamplesSettlesAtTheAskedRate(t *testing.T) {
	for _, tt := range []struct {
		percent int
		late    int64
	}{{30, 0}, {60, 0}, {30, 300 * ms}, {60, 300 * ms}} {
		var all []float64
		for seed := range uint64(5) {
			all = append(all, reduced(t, seed, tt.percent, tt.late, 1500*ms))
		}
		slices.Sort(all)
		t.Logf("reduced by %d %%, samples up to %d ms late: %.2f", tt.percent, tt.late/ms, all)
		if m := all[len(all)/2]; m < 0.9 || m > 1.1 || all[0] < 0.67 || all[len(all)-1] > 1.33 {
			t.Errorf("reduced by %d %%, samples up to %d ms late: %.2f of the asked rate", tt.percent, tt.late/ms, all)
		}
	}
}

// TestRateOfAFlowThatIsStoppedOften: what is known of its rate goes by all packets between stops, also
// where the next stop comes before a window has its samples. Windows that were full before it alone
// are those whose samples came early.
func TestRateOfAFlowThatIsStoppedOften(t *testing.T) {
	const runs = 8
	sum := 0.
	for seed := range uint64(runs) {
		c := slowing()
		c.Ports[2].Speed, c.HoldLimit = sampledLine/1_000_000, 0
		s := &sampled{f: newFake(t, c), random: rand.New(rand.NewPCG(seed, 2)), one: 16}
		s.send(1500 * ms)
		for range 40 {
			for range 3 {
				s.f.receive(down1, pause(streamOf(5), 40_000))
				s.send(s.f.now + 30*ms)
			}
			s.send(s.f.now + 110*ms)
		}
		sum += float64(s.f.core.source.Rate(s.f.now, targetOf(sai.Null, matchOf(flowOf(sender, sink).Pair)))) / sampledRate
	}
	if t.Logf("mean %.3f", sum/runs); sum < runs*0.97 || sum > runs*1.03 {
		t.Errorf("the known rate is %.3f of the offered one", sum/runs)
	}
}
