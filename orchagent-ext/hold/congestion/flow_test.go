// SPDX-License-Identifier: Apache-2.0

package congestion

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/notify"
)

// us is a microsecond on the clock of the tests.
const us = int64(time.Microsecond)

func marks() *Threshold {
	return &Threshold{High: 100_000, Low: 50_000, Action: notify.Pause, Duration: time.Millisecond}
}

// A step is an observation and what it leads to.
type step struct {
	At     int64 // µs
	Octets uint64
	Signal Signal
}

func play(f *Flow, t *Threshold, steps []step) []step {
	got := make([]step, len(steps))
	for i, s := range steps {
		got[i] = step{s.At, s.Octets, f.Observe(s.At*us, Seen{Octets: s.Octets}, t)}
	}
	return got
}

//conformance:draft-yang/detect
func TestObserveSignalsAtTheMarks(t *testing.T) {
	for name, steps := range map[string][]step{
		"fills and drains": {
			{0, 10_000, Nothing}, {10, 79_999, Nothing}, {20, 80_000, Alarm}, {30, 90_000, Nothing},
			{40, 100_000, Nothing}, {50, 100_001, Stop}, {60, 150_000, Nothing}, {70, 60_000, Nothing},
			{80, 50_000, Nothing}, {90, 49_999, Resume}, {100, 0, Nothing},
		},
		"refreshed at half the duration, by what is the case then": {
			{0, 200_000, Stop}, {499, 200_000, Nothing}, {500, 200_000, Stop},
			{999, 99_000, Nothing}, {1000, 99_000, Hold}, {1200, 200_000, Nothing}, {1500, 200_000, Stop},
			{1600, 0, Resume},
		},
		"a late refresh counts from when it went out": {
			{0, 200_000, Stop}, {900, 200_000, Stop}, {1399, 200_000, Nothing}, {1400, 200_000, Stop},
		},
		"no alarm on the way down, and one for each time of filling": {
			{0, 200_000, Stop}, {10, 10_000, Resume}, {20, 85_000, Alarm}, {30, 75_000, Nothing},
			{40, 85_000, Nothing}, {50, 49_000, Nothing}, {60, 85_000, Alarm},
		},
		"swings about the high-water mark": {
			{0, 100_001, Stop}, {1, 99_999, Nothing}, {2, 100_001, Nothing}, {3, 99_999, Nothing}, {4, 100_001, Nothing},
		},
		"swings between the marks": {
			{0, 200_000, Stop}, {1, 0, Resume}, {2, 200_000, Stop}, {3, 0, Resume},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(steps, play(new(Flow), marks(), steps)); diff != "" {
				t.Errorf("signals (-want +got):\n%s", diff)
			}
		})
	}
}

// Where the low-water mark is above 80 % of the high one, the alarm is at the low one:
// a flow that has just drained raises none.
func TestAlarmIsNotBelowTheLowMark(t *testing.T) {
	th := marks()
	th.Low = 90_000
	steps := []step{{0, 85_000, Nothing}, {1, 90_000, Alarm}, {2, 100_001, Stop}, {3, 89_999, Resume}, {4, 85_000, Nothing}}
	if diff := cmp.Diff(steps, play(new(Flow), th, steps)); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
}

// With an average the alarm is due when the average passes the low mark, where that is
// above 80 % of the high one.
func TestAlarmOfAnAverageIsDueAtTheLowMark(t *testing.T) {
	th := marks()
	th.Low, th.Average = 90_000, 100*time.Microsecond
	var f Flow
	f.Observe(0, Seen{Octets: 0}, th)
	f.Observe(1000*us, Seen{Octets: 95_000}, th)
	at, ok := f.Due(th)
	want := 1000*us + int64(-100e3*math.Log(1-90./95)) + 1
	if !ok || at < want-10 || at > want+10 {
		t.Errorf("due at %d (%v), want %d", at, ok, want)
	}
	if s := f.Observe(at, Seen{Octets: 95_000}, th); s != Alarm {
		t.Errorf("then %v, want alarm", s)
	}
}

// A low-water mark of 0 is passed by an empty queue.
func TestLowMarkOfZero(t *testing.T) {
	th := marks()
	th.Low = 0
	steps := []step{{0, 200_000, Stop}, {1, 1, Nothing}, {2, 0, Resume}}
	if diff := cmp.Diff(steps, play(new(Flow), th, steps)); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
}

// With an average a burst that drains at once is no congestion, and one that stays is:
// at the time that Due names, which is when the exponential passes the mark.
//
//conformance:draft-yang/detect
func TestAveragedDepthSignalsWhenDue(t *testing.T) {
	th := marks()
	th.Average = 100 * time.Microsecond
	var f Flow
	steps := []step{{0, 300_000, Nothing}, {20, 0, Nothing}, {5000, 300_000, Nothing}}
	if diff := cmp.Diff(steps, play(&f, th, steps)); diff != "" {
		t.Fatalf("signals (-want +got):\n%s", diff)
	}
	for _, want := range []struct {
		signal Signal
		after  float64 // µs since the depth became 300,000
	}{
		{Alarm, -100 * math.Log(1-80./300)},
		{Stop, -100 * math.Log(1-100./300)},
	} {
		at, ok := f.Due(th)
		if !ok || math.Abs(float64(at-5000*us)/1000-want.after) > 0.01 {
			t.Fatalf("due for %v at %v µs (%v), want %.3f", want.signal, float64(at-5000*us)/1000, ok, want.after)
		}
		if got := f.Observe(at-2, Seen{Octets: 300_000}, th); got != Nothing {
			t.Errorf("%v before the mark for %v", got, want.signal)
		}
		if got := f.Observe(at, Seen{Octets: 300_000}, th); got != want.signal {
			t.Errorf("%v, want %v", got, want.signal)
		}
	}
	f.Observe(6000*us, Seen{Octets: 0}, th) // the average is 300,000 by now
	want := 6000*us + int64(100e3*math.Log(300/50.)) + 1
	if at, ok := f.Due(th); !ok || at < want-10 || at > want+10 {
		t.Errorf("resume due at %d (%v), want %d", at, ok, want)
	} else if got := f.Observe(at, Seen{Octets: 0}, th); got != Resume {
		t.Errorf("%v, want resume", got)
	}
}

func TestDueIsHalfADurationAfterTheLastSignal(t *testing.T) {
	var f Flow
	th := marks()
	if at, ok := f.Due(th); ok {
		t.Errorf("an idle flow is due at %d", at)
	}
	f.Observe(7*us, Seen{Octets: 200_000}, th)
	if at, ok := f.Due(th); !ok || at != 507*us {
		t.Errorf("due at %d (%v), want %d", at, ok, 507*us)
	}
	f.Observe(8*us, Seen{Octets: 0}, th)
	if at, ok := f.Due(th); ok {
		t.Errorf("a flow that was resumed is due at %d", at)
	}
}

func TestEndResumesACongestedFlow(t *testing.T) {
	var f Flow
	th := marks()
	f.Observe(0, Seen{Octets: 90_000}, th)
	if got := f.End(); got != Nothing {
		t.Errorf("end of a flow that is not congested: %v", got)
	}
	f.Observe(0, Seen{Octets: 200_000}, th)
	if got := f.End(); got != Resume || f != (Flow{}) {
		t.Errorf("end of a congested flow: %v, and left %+v", got, f)
	}
}

// Whatever the depths, the marks and the times: who hears Stop hears again before the
// time is over or hears Resume, Resume follows only Stop or Hold, Hold only Stop or Hold,
// and there are no more than two messages for each time of filling and half duration.
// The caller is one who calls when the depth changes and when Due says so.
func TestSignalsFollowTheirGrammarForAnyDepth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		high := rapid.Uint64Range(1, 1<<40).Draw(t, "high")
		th := &Threshold{
			High:     high,
			Low:      rapid.Uint64Range(0, high-1).Draw(t, "low"),
			Average:  time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "average")) * time.Microsecond,
			Duration: time.Duration(rapid.Int64Range(1, 65_535).Draw(t, "duration")) * time.Microsecond,
			Action:   notify.Pause,
		}
		var f Flow
		now, depth := rapid.Int64Range(0, 1<<60).Draw(t, "start"), uint64(0)
		stopped, said := false, int64(0)
		observe := func() {
			before := f.Congested()
			switch s := f.Observe(now, Seen{Octets: depth}, th); s {
			case Stop, Hold:
				if s == Hold && !stopped {
					t.Fatal("hold without stop")
				}
				if stopped && now-said < th.refresh() {
					t.Fatalf("%v again after %d ns", s, now-said)
				}
				stopped, said = true, now
			case Resume:
				if !stopped {
					t.Fatal("resume without stop")
				}
				stopped = false
			case Alarm:
				if stopped || before {
					t.Fatal("alarm while stopped")
				}
			}
			if stopped != f.Congested() {
				t.Fatalf("stopped %v, congested %v", stopped, f.Congested())
			}
			if th.Average == 0 && uint64(f.depth) != depth {
				t.Fatalf("depth %d, want %d", uint64(f.depth), depth)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			next := now + rapid.Int64Range(0, 3*int64(th.Duration)).Draw(t, "dt")
			for n := 0; ; n++ {
				at, ok := f.Due(th)
				if !ok || at > next {
					break
				}
				if n > 100 {
					t.Fatalf("due %d times without end, now at %d for %d", n, now, at)
				}
				if at < now {
					t.Fatalf("due at %d, before %d", at, now)
				}
				now = at
				observe()
			}
			if now = next; stopped && now-said > int64(th.Duration) {
				t.Fatalf("nothing said for %d ns of %v", now-said, th.Duration)
			}
			depth = rapid.Uint64Range(0, 2*high).Draw(t, "depth")
			observe()
		}
	})
}

//conformance:draft-yang/signal draft-xz/trigger
func TestMessagesCarryTheSignal(t *testing.T) {
	type pfcm struct {
		Action notify.Action
		US     uint16
		OK     bool
	}
	type ppfc struct {
		PT notify.PT
		US uint16
		OK bool
	}
	th := &Threshold{High: 2, Action: notify.Reduce(30), Duration: 250 * time.Microsecond}
	for s, want := range map[Signal]struct {
		PFCM pfcm
		PPFC ppfc
	}{
		Nothing: {},
		Alarm:   {PPFC: ppfc{notify.Alarm, 0, true}},
		Stop:    {pfcm{notify.Reduce(30), 250, true}, ppfc{notify.Stop, 250, true}},
		Hold:    {pfcm{notify.Reduce(30), 250, true}, ppfc{notify.Hold, 250, true}},
		Resume:  {pfcm{notify.Cancel, 0, true}, ppfc{notify.Resume, 0, true}},
	} {
		var gotM pfcm
		var gotP ppfc
		gotM.Action, gotM.US, gotM.OK = th.PFCM(s)
		gotP.PT, gotP.US, gotP.OK = th.PPFC(s)
		if gotM != want.PFCM || gotP != want.PPFC {
			t.Errorf("%v: PFCM %+v, PPFC %+v, want %+v", s, gotM, gotP, want)
		}
	}
	th.Duration = time.Second
	if _, us, _ := th.PFCM(Stop); us != 65535 {
		t.Errorf("a second is %d µs", us)
	}
}
