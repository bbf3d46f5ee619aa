// SPDX-License-Identifier: Apache-2.0

package dcqcn

import (
	"math/rand/v2"
	"testing"
)

const ms = 1000 * us

// wire is a sender that CNPs reach after a time, some of them lost.
type wire struct {
	sender        Rate
	offered, line uint64
	delay         int64
	loss          float64
	deaf          bool // it ignores CNPs
	under         []int64
	random        *rand.Rand
	late          func(*rand.Rand) int64 // how late the caller is woken up; nil: it never is
	share         int64                  // least time between two wakeups; 0: any
	bits, all     float64                // sent since the last measurement; in all
	cnps          int
	closest, last int64
}

func newWire(offered, line uint64, delay int64) *wire {
	return &wire{offered: offered, line: line, delay: delay, random: rand.New(rand.NewPCG(1, 2)), closest: ms, last: -ms}
}

// step sends for a microsecond.
func (w *wire) step(now int64) {
	for len(w.under) > 0 && w.under[0] <= now {
		if w.under = w.under[1:]; !w.deaf {
			w.sender.Notify(now, w.offered, w.line)
		}
	}
	rate := w.rate(now)
	w.sender.Sent(int(rate / 8e6))
	w.bits += rate / 1e6
	w.all += rate / 1e6
}

func (w *wire) rate(now int64) float64 {
	return float64(min(w.sender.At(now), w.offered))
}

// cnp takes a CNP under way.
func (w *wire) cnp(now int64) {
	w.cnps++
	w.closest, w.last = min(w.closest, now-w.last), now
	if w.random.Float64() >= w.loss {
		at := now + w.delay
		if w.late != nil {
			at += w.random.Int64N(10 * us) // in the kernel's queues
		}
		w.under = append(w.under, at)
	}
}

// run steers the wire for a time, and measures each so often; 0: never.
func (w *wire) run(s *Steer, from, until, each int64) {
	next := s.Next()
	for now := from; now < until; now += us {
		if now >= next {
			if s.Due(now) {
				w.cnp(now)
			}
			next = max(now+us, now+w.share, s.Next())
			if w.late != nil {
				next += w.late(w.random)
			}
		}
		w.step(now)
		if each != 0 && now > from && (now-from)%each == 0 && s.Measured(now, uint64(w.bits*1e9/float64(each)), 1000) {
			w.bits, next = 0, s.Next()
		}
	}
}

// Within two round trips of a stop the sender is below a tenth of its rate, and it stays
// there while the stop lasts.
func TestStopSlowsASenderWithinTwoRoundTrips(t *testing.T) {
	for _, line := range []uint64{1_000_000_000, 100_000_000_000, 400_000_000_000} {
		const delay = 100 * us // and as much back
		w := newWire(line*4/10, line, delay)
		var s Steer
		s.Begin(0, w.offered, line, 0)
		w.run(&s, 0, 4*delay, 0)
		if rate := w.rate(4 * delay); rate > float64(w.offered)/10 {
			t.Errorf("%d bit/s: after two round trips %.1f %% are left", line, 100*rate/float64(w.offered))
		}
		w.all = 0
		w.run(&s, 4*delay, 40*ms, 0)
		if part := w.all / (float64(w.offered) * 0.0396); part > 0.1 {
			t.Errorf("%d bit/s: during the stop %.1f %% are left", line, 100*part)
		}
		if w.closest < 50*us {
			t.Errorf("two CNPs are %d ns apart", w.closest)
		}
		t.Logf("%d bit/s: %d CNPs in 40 ms", line, w.cnps)
	}
}

// A sender is below a tenth of its rate soon after a stop and as long as it lasts, although
// the caller wakes up late, and some CNPs come closer together than they were sent. A flow
// takes no more CNPs than keep it from its steps of increase.
func TestStopHoldsASenderWhereTheCallerWakesUpLate(t *testing.T) {
	for name, c := range map[string]struct {
		late  func(*rand.Rand) int64
		share int64
	}{
		"on time":             {func(*rand.Rand) int64 { return 0 }, 0},
		"by 20 us":            {func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 20_000) }, 0},
		"a share of a core":   {func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 20_000) }, 140 * us},
		"at times by 1000 us": {func(r *rand.Rand) int64 { return int64(r.ExpFloat64()*20_000) + ms*int64(1-min(1, r.IntN(200))) }, 0},
	} {
		for _, part := range []uint64{8, 2} { // of the link, that the flow offers
			const line, delay = 200_000_000, 20 * us
			w := newWire(line/part, line, delay)
			w.late, w.share = c.late, c.share
			var s Steer
			s.Begin(0, w.offered, line, 0)
			w.run(&s, 0, 2*ms, 0)
			w.all, w.cnps = 0, 0
			w.run(&s, 2*ms, 102*ms, 0)
			if left := w.all / (float64(w.offered) * 0.1); left > 0.08 {
				t.Errorf("%s, 1/%d of the link: %.1f %% are left", name, part, 100*left)
			}
			if w.cnps > 420 {
				t.Errorf("%s, 1/%d of the link: %d CNPs in 100 ms", name, part, w.cnps)
			}
		}
	}
}

// CNPs to several flows are due at the same times, so that the caller wakes up for all of them.
func TestFlowsHaveTheirCNPsTogether(t *testing.T) {
	var a, b Steer
	a.Begin(1*us, 25_000_000, 200_000_000, 0)
	b.Begin(33*us, 20_000_000, 200_000_000, 0)
	times := map[int64]int{}
	for now := int64(33 * us); now < 50*ms; now = min(a.Next(), b.Next()) {
		for _, s := range []*Steer{&a, &b} {
			if s.Due(now) {
				times[now]++
			}
		}
	}
	both, all := 0, 0
	for at, n := range times {
		if at > 2*ms {
			all++
			both += n - 1
		}
	}
	t.Logf("%d of %d times are of both", both, all)
	if all == 0 || both < all*9/10 {
		t.Errorf("%d of %d times are of both", both, all)
	}
}

// A reduction settles within a tenth of the asked rate, with CNPs lost, on links of any
// speed, and with an offered rate that is known wrongly.
func TestReductionSettlesAtTheAskedRate(t *testing.T) {
	for _, line := range []uint64{1_000_000_000, 100_000_000_000} {
		for _, keep := range []uint64{20, 50, 75} {
			for _, loss := range []float64{0, 0.1} {
				for _, known := range []uint64{100, 70, 140} {
					w := newWire(line*6/10, line, 50*us)
					w.loss = loss
					asked := w.offered * keep / 100
					var s Steer
					s.Begin(0, w.offered*known/100, line, asked)
					w.run(&s, 0, 200*ms, 10*ms)
					w.all, w.cnps = 0, 0
					w.run(&s, 200*ms, 400*ms, 10*ms)
					if part := w.all / (float64(asked) * 0.2); part < 0.9 || part > 1.1 {
						t.Errorf("%d bit/s, keep %d %%, loss %g, known as %d %%: %.3f of the asked rate, %d CNPs", line, keep, loss, known, part, w.cnps)
					}
				}
			}
		}
	}
}

// A reduction settles within a tenth of the asked rate where the caller wakes up late: what the
// sender recovers to meanwhile, by the steps of a link of eight times its rate, is made good.
func TestReductionSettlesWhereTheCallerWakesUpLate(t *testing.T) {
	for name, late := range map[string]func(*rand.Rand) int64{
		"by 200 us": func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 200_000) },
		"at times by up to 4 ms": func(r *rand.Rand) int64 {
			return int64(r.ExpFloat64()*20_000) + r.Int64N(4*ms)*int64(1-min(1, r.IntN(50)))
		},
		"seldom by up to 40 ms": func(r *rand.Rand) int64 {
			return int64(r.ExpFloat64()*20_000) + r.Int64N(40*ms)*int64(1-min(1, r.IntN(1000)))
		},
	} {
		for _, keep := range []uint64{40, 50, 70} {
			const line = 200_000_000
			w := newWire(line/8, line, 20*us)
			w.late = late
			asked := w.offered * keep / 100
			var s Steer
			s.Begin(0, w.offered, line, asked)
			w.run(&s, 0, 200*ms, 10*ms)
			w.all, w.cnps = 0, 0
			w.run(&s, 200*ms, 1200*ms, 10*ms)
			if part := w.all / float64(asked); part < 0.9 || part > 1.1 {
				t.Errorf("late %s, keep %d %%: %.3f of the asked rate, %d CNPs a second", name, keep, part, w.cnps)
			}
		}
	}
}

// What measurements showed in one reduction holds in the next one, before any of its own: of ten CNPs one gets
// lost, so that the sender has more than by the model.
func TestReductionBeginsWithWhatTheLastOneShowed(t *testing.T) {
	const line = 200_000_000
	w := newWire(line/8, line, 20*us)
	w.loss = 0.1
	asked := w.offered * 40 / 100
	var s Steer
	var parts [2]float64
	for i := range parts {
		now := int64(i) * 3000 * ms
		s.Begin(now, w.offered, line, asked)
		w.run(&s, now, now+20*ms, 0)
		w.all = 0
		w.run(&s, now+20*ms, now+200*ms, 0)
		parts[i] = w.all / (float64(asked) * 0.18)
		w.bits = 0
		s.since, s.bits = now+200*ms, 0
		w.run(&s, now+200*ms, now+2000*ms, 10*ms)
		for at := now + 2000*ms; at < now+3000*ms; at += us {
			w.step(at)
		}
		if !s.Recovered(now + 3000*ms) {
			t.Fatal("the sender has not recovered")
		}
	}
	if t.Logf("%.3f of the asked rate, then %.3f", parts[0], parts[1]); parts[0] < 1.15 || parts[1] < 0.9 || parts[1] > 1.1 {
		t.Errorf("%.3f of the asked rate without a measurement, then %.3f", parts[0], parts[1])
	}
}

// A caller that had no CPU for 30 ms, in which the sender's limit rises far above what it offers,
// brings it back to the asked rate within 20 ms.
func TestSteerCatchesUpAfterAStall(t *testing.T) {
	const line = 200_000_000
	for _, keep := range []uint64{40, 70} {
		w := newWire(line/8, line, 20*us)
		w.late = func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 20_000) }
		asked := w.offered * keep / 100
		var s Steer
		s.Begin(0, w.offered, line, asked)
		w.run(&s, 0, 200*ms, 0)
		for now := int64(200 * ms); now < 230*ms; now += us {
			w.step(now)
		}
		w.run(&s, 230*ms, 250*ms, 0)
		w.all = 0
		w.run(&s, 250*ms, 350*ms, 0)
		if part := w.all / (float64(asked) * 0.1); part < 0.9 || part > 1.1 {
			t.Errorf("keep %d %%: %.3f of the asked rate", keep, part)
		}
	}
}

// A sender that ignores CNPs is named, and gets no more than a few from then on; one that
// obeys again is steered again.
func TestSenderThatIgnoresCNPsIsNamed(t *testing.T) {
	w := newWire(40_000_000_000, 100_000_000_000, 50*us)
	w.deaf = true
	var s Steer
	s.Begin(0, w.offered, w.line, 0)
	w.run(&s, 0, 100*ms, 10*ms)
	if !s.Ignores() {
		t.Fatal("it is not named")
	}
	w.cnps = 0
	w.run(&s, 100*ms, 1100*ms, 10*ms)
	if w.cnps > 10*fewCNPs {
		t.Errorf("it got %d CNPs in a second", w.cnps)
	}
	w.deaf = false
	w.run(&s, 1100*ms, 1500*ms, 10*ms)
	if s.Ignores() || w.rate(1500*ms) > float64(w.offered)/10 {
		t.Errorf("it obeys, and is named: %v, at %.3g bit/s", s.Ignores(), w.rate(1500*ms))
	}
}

// A sender that stays below the asked rate by itself, as measured, is due far ahead: the caller
// does not come back at once, again and again.
func TestSteerIsDueLaterWhereTheSenderIsBelow(t *testing.T) {
	var s Steer
	s.Begin(0, 10_000_000, 200_000_000, 8_000_000)
	s.Due(0)
	for now := int64(10 * ms); now <= 100*ms; now += 10 * ms {
		s.Measured(now, 2_000_000, 1000)
	}
	if now := int64(100 * ms); s.Due(now) || s.Next() < now+rateTimer {
		t.Errorf("due %d ns ahead", s.Next()-now)
	}
}
