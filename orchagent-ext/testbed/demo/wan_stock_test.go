// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// steady appends the times of packets at so many a second.
func steady(times []int64, from time.Duration, until time.Duration, perSecond float64) []int64 {
	for n := 0.0; ; n++ {
		at := from + time.Duration(n/perSecond*1e9)
		if at >= until {
			return times
		}
		times = append(times, int64(at))
	}
}

// A flow that falls to 5 % 30 ms after its stop was sent is below a tenth after one and a half
// round trips, less the part of a round trip that the window sees ahead.
func TestSourceFiguresOfAStop(t *testing.T) {
	h, a := newHeard(), &asking{}
	const second, full = time.Second, 2800.0
	stop := second
	h.packets[0] = steady(nil, 0, stop+30*time.Millisecond, full)
	h.packets[0] = steady(h.packets[0], stop+30*time.Millisecond, stop+sourceStop, full/20)
	h.victims = steady(nil, 0, 2*second, 1000)
	a.stopped[0] = []int64{int64(stop)}
	h.stops[0] = []int64{int64(stop + wanDelay)}
	h.cnps[0] = []int64{int64(stop + wanDelay + 80*time.Microsecond), int64(stop + 50*time.Millisecond)}
	s := h.figures(a)
	if s.Stops != 1 || s.Unstopped != 0 || s.FirstCNP != 80 || s.CNPs != 20 || s.RoundTrips < 1.3 || s.RoundTrips > 1.55 {
		t.Errorf("%+v", s)
	}
	a.stopped[0], h.cnps[0] = []int64{int64(stop - 500*time.Millisecond)}, nil // a sender that goes on
	if s := h.figures(a); s.Unstopped != 1 || s.RoundTrips != sourceStop.Seconds()/wanRTT.Seconds() {
		t.Errorf("a sender that goes on: %+v", s)
	}
	h.victims = steady(steady(nil, 0, 450*time.Millisecond, 1000), 500*time.Millisecond, 2*second, 1000)
	if s := h.figures(a); s.Starved != 1 || s.Trips != 0 {
		t.Errorf("a sender without CPU: %+v", s)
	}
}

// The reduction that is furthest from the asked rate is the one that counts.
func TestSourceFiguresOfReductions(t *testing.T) {
	h, a := newHeard(), &asking{}
	offered := sourcePackets()
	for _, r := range []struct {
		percent int
		part    float64 // of the offered rate
	}{{30, 0.7 * 1.02}, {50, 0.5 * 0.8}} {
		at := time.Duration(r.percent) * time.Second
		a.reduced = append(a.reduced, reduction{int64(at), r.percent})
		for i := range h.packets {
			h.packets[i] = steady(h.packets[i], at, at+sourceReduce, offered*r.part)
		}
	}
	h.victims = steady(nil, 20*time.Second, 60*time.Second, 1000)
	s := h.figures(a)
	if math.Abs(s.RateOverAsked-0.8) > 0.01 || math.Abs(s.Reductions["30"]-1.02) > 0.01 {
		t.Errorf("%+v", s)
	}
}

// A figure of time or rate that misses its bar is an error where there are medians; a stop
// without a CNP always is.
func TestSourceFiguresAreJudged(t *testing.T) {
	good := sourceFigures{Stops: 4, Trips: sourceAllStop, Reductions: map[string]float64{"30": 1, "50": 1, "60": 1.05}, FirstCNP: 900, RoundTrips: 1.5, RateOverAsked: 1.05, Victims: 0.99}
	for want, change := range map[string]func(*sourceFigures){
		"":                      func(*sourceFigures) {},
		"0 of 0 stops":          func(s *sourceFigures) { s.Stops = 0 },
		"1 of 4 stops":          func(s *sourceFigures) { s.Unstopped = 1 },
		"PFCM to the first CNP": func(s *sourceFigures) { s.FirstCNP = 1001 },
		"a stopped sender is":   func(s *sourceFigures) { s.RoundTrips = 2.1 },
		"the rate is 0.890":     func(s *sourceFigures) { s.RateOverAsked = 0.89 },
		"victims get 94.0 %":    func(s *sourceFigures) { s.Victims = 0.94 },
	} {
		s, got := good, ""
		change(&s)
		s.judge(true, func(ok bool, format string, args ...any) {
			if !ok {
				got += fmt.Sprintf(format, args...)
			}
		})
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
