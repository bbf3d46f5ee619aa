// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/notify"
)

func speed(mbps uint32) func(uint32) uint32 { return func(uint32) uint32 { return mbps } }

func onQueue(neighbor byte, queue uint16) Key {
	k := key(neighbor, 1)
	k.Queue = queue
	return k
}

// frame is a frame for one priority.
func frame(port uint32, priority uint8, quanta uint16) Frame {
	f := Frame{Port: port, PFC: notify.PFC{Enable: 1 << priority}}
	f.PFC.Quanta[priority] = quanta
	return f
}

//conformance:draft-yang/pfc draft-yang/pfc-queue
func TestPausesLastAsLongAsTheirQuanta(t *testing.T) {
	p := NewPauses()
	expect := func(at int64, want ...Frame) {
		t.Helper()
		if diff := cmp.Diff(want, p.Frames(nil, at*us, speed(100_000))); diff != "" {
			t.Errorf("frames at %d µs (-want +got):\n%s", at, diff)
		}
	}
	p.Receive(0, onQueue(1, 3), limit(0, 10), 7)
	expect(0, frame(7, 3, 1954))
	expect(1)
	p.Receive(2*us, onQueue(2, 3), limit(0, 10), 7) // another hold, 2 µs longer
	expect(2, frame(7, 3, 1954))
	p.Receive(3*us, onQueue(1, 3), Demand{Verb: End}, 7)
	expect(3) // the other one remains
	p.Receive(4*us, onQueue(2, 3), Demand{Verb: End}, 7)
	expect(4, frame(7, 3, 0))
	expect(5)

	p.Receive(100*us, onQueue(1, 0), limit(0, 10), 8)
	p.Receive(100*us, onQueue(1, 7), limit(0, 20), 8)
	p.Receive(100*us, onQueue(2, 1), limit(0, 10), 2)
	both := frame(8, 0, 1954)
	both.PFC.Enable |= 1 << 7
	both.PFC.Quanta[7] = 3907
	expect(100, frame(2, 1, 1954), both)
	if at, ok := p.Next(); !ok || at != 110*us {
		t.Errorf("next at %d (%v)", at, ok)
	}
	expect(110, frame(2, 1, 0), frame(8, 0, 0))
	expect(120, frame(8, 7, 0))
	if at, ok := p.Next(); ok {
		t.Errorf("next at %d when nothing is paused", at)
	}
}

// At 400 Gbit/s 65,535 quanta are 83.9 µs, so a pause of 200 µs is said several times,
// each time before the last one is over.
//
//conformance:draft-yang/pfc
func TestPausesRepeat(t *testing.T) {
	p := NewPauses()
	p.Receive(0, onQueue(1, 3), limit(0, 200), 7)
	var got []Frame
	var times []int64
	for at, ok := int64(0), true; ok; at, ok = p.Next() {
		n := len(got)
		if got = p.Frames(got, at, speed(400_000)); len(got) > n {
			times = append(times, at)
		}
	}
	want := []Frame{frame(7, 3, 65535), frame(7, 3, 65535), frame(7, 3, 65535), frame(7, 3, 58594), frame(7, 3, 0)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 41942, 83884, 125826, 200_000}, times); diff != "" {
		t.Errorf("times in ns (-want +got):\n%s", diff)
	}
}

func TestPausesCannot(t *testing.T) {
	p := NewPauses()
	if p.Receive(0, onQueue(1, 3), limit(50, 10), 7) {
		t.Error("a reduction was translated")
	}
	if p.Receive(0, onQueue(1, 8), limit(0, 10), 7) {
		t.Error("queue 8 was translated")
	}
	if p.Receive(0, onQueue(1, 3), Demand{Verb: Extend, For: time.Second}, 7) {
		t.Error("a freeze was translated")
	}
	if !p.Receive(0, onQueue(1, 3), Demand{Verb: Note}, 7) || !p.Receive(0, onQueue(1, 3), Demand{Verb: End}, 7) {
		t.Error("what asks for nothing was refused")
	}
	if got := p.Frames(nil, 0, speed(100_000)); got != nil {
		t.Errorf("frames %+v", got)
	}
	p.Receive(0, onQueue(1, 3), limit(0, 10), 7)
	if got := p.Frames(nil, 0, speed(0)); got != nil {
		t.Errorf("without a speed: %+v", got)
	}
	if at, _ := p.Next(); at != 10*us {
		t.Errorf("without a speed next at %d", at)
	}
	p.Receive(us, onQueue(1, 3), limit(50, 10), 7) // replaces the pause
	if got := p.Frames(nil, us, speed(100_000)); got != nil {
		t.Errorf("frames %+v", got)
	}
}

// A priority is paused for 100 ms without a break at most, then it goes on for 100 ms,
// whatever is asked in between.
func TestPausesHaveABudget(t *testing.T) {
	p := NewPauses()
	const ms = int64(time.Millisecond)
	paused, since, longest, rest := false, int64(0), int64(0), int64(1<<62)
	end := int64(0)
	for now := int64(0); now < 1000*ms; {
		if now%(20*ms) == 0 { // somebody refreshes 40 ms every 20 ms
			p.Receive(now, onQueue(1, 3), limit(0, 40_000), 7)
		}
		for _, f := range p.Frames(nil, now, speed(1_000)) {
			switch on := f.PFC.Quanta[3] != 0; {
			case on && !paused:
				if end != 0 {
					rest = min(rest, now-end)
				}
				paused, since = true, now
			case !on && paused:
				paused, end = false, now
				longest = max(longest, now-since)
			}
		}
		next := (now/(20*ms) + 1) * 20 * ms
		if at, ok := p.Next(); ok && at > now {
			next = min(next, at)
		}
		now = next
	}
	if longest != 100*ms || rest != 100*ms || p.Exhausted != 5 {
		t.Errorf("paused for %d ms at most, then free for %d ms at least, %d times; want 100, 100, 5", longest/ms, rest/ms, p.Exhausted)
	}
}

// A neighbor that obeys PFC is paused while a demand on the priority holds, without a
// gap, and neither before nor after: to the quantum, where frames go out when Next says.
func TestPausesObeyed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mbps := rapid.SampledFrom([]uint32{1000, 10_000, 100_000, 400_000, 800_000}).Draw(t, "mbps")
		quantum := int64(512*1000/mbps) + 1
		p := NewPauses()
		p.Budget = 0
		demands := map[Key]int64{}
		type line struct {
			port     uint32
			priority uint8
		}
		paused := map[line]int64{} // at the neighbor
		now := int64(0)
		send := func() {
			for _, f := range p.Frames(nil, now, speed(mbps)) {
				for i := range uint8(8) {
					if f.PFC.Enable&(1<<i) != 0 {
						paused[line{f.Port, i}] = now + int64(notify.QuantaDuration(f.PFC.Quanta[i], mbps))
					}
				}
			}
		}
		check := func() {
			for port := range uint32(2) {
				for priority := range uint8(2) {
					want := int64(0)
					for k, until := range demands {
						if k.Port == port && k.Queue == uint16(priority) && until > now {
							want = max(want, until)
						}
					}
					got := paused[line{port, priority}]
					switch {
					case want == 0 && got > now+quantum:
						t.Fatalf("at %d paused until %d though nothing holds", now, got)
					case want != 0 && got <= now && want-now > quantum:
						t.Fatalf("at %d not paused, should be until %d", now, want)
					case want != 0 && got > want+int64(time.Microsecond)+quantum:
						t.Fatalf("at %d paused until %d, should be until %d", now, got, want)
					}
				}
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			to := now + rapid.Int64Range(0, 70_000*us).Draw(t, "dt")
			for n := 0; ; n++ {
				at, ok := p.Next()
				if !ok || at > to {
					break
				}
				if n > 100_000 || at < now {
					t.Fatalf("next at %d, now %d, call %d", at, now, n)
				}
				now = at - 1
				check() // up to the last moment
				now = at
				send()
			}
			now = to
			check()
			k := key(rapid.ByteRange(1, 2).Draw(t, "neighbor"), 1)
			k.Port, k.Queue = rapid.Uint32Range(0, 1).Draw(t, "port"), rapid.Uint16Range(0, 1).Draw(t, "queue")
			if rapid.Bool().Draw(t, "end") {
				p.Receive(now, k, Demand{Verb: End}, k.Port)
				delete(demands, k)
			} else {
				d := limit(0, rapid.Int64Range(1, 65_535).Draw(t, "µs"))
				p.Receive(now, k, d, k.Port)
				demands[k] = now + int64(d.For)
			}
			send()
			check()
		}
	})
}
