// SPDX-License-Identifier: Apache-2.0

package dcqcn

import (
	"math"
	"testing"
)

const (
	fortyGig = 40_000_000_000
	us       = int64(1000)
)

// within fails unless got is as near want as a part of it.
func within(t *testing.T, text string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*want {
		t.Errorf("%s: %.4g, want %.4g", text, got, want)
	}
}

func TestDCQCNCutsByAlphaAndRecoversToTheTargetInFiveSteps(t *testing.T) {
	var s Rate
	s.Notify(0, fortyGig, fortyGig)
	within(t, "the first CNP halves", float64(s.At(0)), fortyGig/2, 0)
	within(t, "after one timer", float64(s.At(55*us)), fortyGig*3/4, 1e-9)
	within(t, "after five timers 1/32 of the cut is left", float64(s.At(5*55*us)), fortyGig*(1-1./64), 1e-9)
	if got := s.At(1_000_000 * us); got != math.MaxUint64 {
		t.Errorf("a second later the limit is %d bit/s", got)
	}
}

func TestDCQCNCutsOncePerSpacing(t *testing.T) {
	var s Rate
	for at := int64(0); at < 50*us; at += us {
		s.Notify(at, fortyGig, fortyGig)
	}
	within(t, "rate after 50 CNPs in 50 us", float64(s.At(50*us)), fortyGig/2, 0)
	s.Notify(50*us, fortyGig, fortyGig)
	if got := s.At(50 * us); got > fortyGig*26/100 {
		t.Errorf("the second cut leaves %d bit/s", got)
	}
}

func TestDCQCNAlphaFallsWithoutCNPs(t *testing.T) {
	s := Rate{line: fortyGig, current: fortyGig / 100, target: fortyGig / 100, alpha: 1}
	s.advance(55 * 256 * us)
	within(t, "alpha", s.alpha, 1/math.E, 0.01)
}

// TestDCQCNIncreasesByPartsOfTheLine: after fast recovery the target grows by 1/1000 of the
// line each timer, and by 1/100 once octets have passed fast recovery, too.
func TestDCQCNIncreasesByPartsOfTheLine(t *testing.T) {
	for _, line := range []uint64{20_000_000, fortyGig, 800_000_000_000} {
		s := Rate{line: float64(line), current: float64(line) / 4, target: float64(line) / 4}
		s.At(15 * 55 * us) // five steps keep the target, ten raise it
		within(t, "target after ten additive steps", s.target, float64(line)*0.26, 1e-6)
		for range fastSteps + 10 {
			s.Sent(rateOctets)
		}
		// Five of these were additive.
		within(t, "target after five more, and ten hyper steps", s.target, float64(line)*0.365, 1e-6)
	}
}

func TestDCQCNKeepsALeastRate(t *testing.T) {
	var s Rate
	for at := int64(0); at < 10_000*us; at += 50 * us {
		s.Notify(at, fortyGig, fortyGig)
	}
	within(t, "under a CNP each 50 us", s.current, fortyGig/1000, 0.01)
}
