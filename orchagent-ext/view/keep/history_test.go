// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/picture"
	"sluice/tests/racetest"
	"sluice/yang/rows"
)

// begin is the time of the first frame of tests.
var begin = time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC)

// numbered returns the n-th frame of a switch, at n seconds.
func numbered(n int) *frame.Frame {
	return &frame.Frame{At: begin.Add(time.Duration(n) * time.Second), Switches: []frame.Switch{{Name: "leaf1", Rows: []rows.Row{
		{Table: "SLUICE_PORT_STATS", Key: "Ethernet0", Fields: map[string]string{"tx_bytes": fmt.Sprint(n), "role": "edge"}},
	}}}}
}

// add adds the frames from one number to another.
func add(t *testing.T, h *History, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := h.Add(numbered(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// check checks that a time has the frame of a number, and that of another before it; -1: none.
func check(t *testing.T, h *History, at float64, is, was int) {
	t.Helper()
	f, before, err := h.At(t.Context(), begin.Add(time.Duration(at*1e9)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n int
		f *frame.Frame
	}{{is, f}, {was, before}} {
		var want *frame.Frame
		if c.n >= 0 {
			want = numbered(c.n)
		}
		if diff := cmp.Diff(want, c.f); diff != "" {
			t.Fatalf("at %g s: %s", at, diff)
		}
	}
}

func TestHistoryHasEachFrameOfItsTime(t *testing.T) {
	h := New(Options{For: time.Minute})
	defer h.Close()
	if _, _, ok := h.Span(); ok {
		t.Error("a history without frames has a span")
	}
	check(t, h, 0, -1, -1)
	add(t, h, 0, 0)
	check(t, h, 0, 0, -1)
	add(t, h, 1, 50)
	check(t, h, -1, -1, -1)
	for n := 50; n > 0; n-- {
		check(t, h, float64(n), n, n-1)
		check(t, h, float64(n)+0.5, n, n-1)
	}
	check(t, h, 0, 0, -1)
	add(t, h, 51, 600)
	first, last, ok := h.Span()
	if !ok || !last.Equal(begin.Add(600*time.Second)) || last.Sub(first) < time.Minute || last.Sub(first) > time.Minute+2*blockSpan {
		t.Errorf("from %v to %v", first, last)
	}
	check(t, h, 1, -1, -1)
	check(t, h, 1000, 600, 599)
	check(t, h, 560, 560, 559)
}

func TestHistoryStaysWithinItsOctets(t *testing.T) {
	const most = 300 << 10
	heap := int64(0)
	h := New(Options{Octets: most, Heap: func(octets int64) { heap = octets }})
	defer h.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 900 {
		f := numbered(n)
		for i := range 100 {
			f.Switches[0].Rows = append(f.Switches[0].Rows, rows.Row{Table: "SLUICE_QUEUE_STATS", Key: fmt.Sprintf("Ethernet0|%d", i), Fields: map[string]string{"bytes": fmt.Sprint(r.Uint64())}})
		}
		if err := h.Add(f); err != nil {
			t.Fatal(err)
		}
		if got := h.Octets(); got > most {
			t.Fatalf("frame %d: %d octets, at most %d", n, got, most)
		}
	}
	if heap < most/10 || heap > most {
		t.Errorf("%d octets are left to the heap", heap)
	}
	first, _, _ := h.Span() // one frame a minute fits
	if !first.Equal(begin) {
		t.Errorf("it begins at %v", first)
	}
	f, before, err := h.At(t.Context(), first)
	if err != nil || f == nil || before != nil || !f.At.Equal(first) {
		t.Errorf("the first is %v, %v", f, err)
	}
}

func TestHistoryFollowsAClockThatIsSetBack(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	add(t, h, 0, 70)
	add(t, h, 40, 45) // 40 to 70 of before are gone
	check(t, h, 39, 39, 38)
	check(t, h, 41, 41, 40)
	check(t, h, 100, 45, 44)
	if _, last, _ := h.Span(); !last.Equal(begin.Add(45 * time.Second)) {
		t.Errorf("it ends at %v", last)
	}
	add(t, h, 46, 90)
	check(t, h, 70, 70, 69)
	h.Close()
	add(t, h, 5, 6)
	check(t, h, 6, 6, 5)
	check(t, h, 4, -1, -1)
}

func TestHistoryTellsOfEachFrame(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	changed := h.Changed()
	select {
	case <-changed:
		t.Fatal("it changed without a frame")
	default:
	}
	add(t, h, 0, 0)
	<-changed
	if again := h.Changed(); again == changed {
		t.Error("the channel is that of before")
	}
}

// TestHistoryIsThinnedWhereItsOctetsAreFew: whatever its frames are, and where the clock is set back, it has
// the newest frames, before these the first one after each minute, and no more than its octets.
func TestHistoryIsThinnedWhereItsOctetsAreFew(t *testing.T) {
	const reach = 30 * time.Minute
	for seed, every := range []time.Duration{time.Second, 300 * time.Millisecond, 3 * time.Second, 25 * time.Second, 90 * time.Second, time.Second} {
		if (seed+1)%racetest.Rounds(1, 3) != 0 {
			continue
		}
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		most := int64(190 << 10) // of 30 frames, and some of the newest ones
		if seed == 5 {
			most = 80 << 10
		}
		h := New(Options{Octets: most, For: reach})
		defer h.Close()
		var added []*frame.Frame
		at, thinned, backs := begin, 0, 5
		for end := begin.Add(2 * reach); at.Before(end); at = at.Add(every) {
			back := time.Duration(0)
			if backs > 0 && at.Before(begin.Add(reach)) && r.IntN(300) == 0 {
				backs--
				back = time.Duration(r.Int64N(int64(10 * time.Minute)))
				at = at.Add(-back)
				added = added[:slices.IndexFunc(append(added, &frame.Frame{At: at}), func(f *frame.Frame) bool { return !f.At.Before(at) })]
			}
			f := &frame.Frame{At: at, Switches: []frame.Switch{{Name: "leaf1"}}}
			for i := range 1 + r.IntN(59) {
				f.Switches[0].Rows = append(f.Switches[0].Rows, rows.Row{Table: "SLUICE_PORT_STATS", Key: fmt.Sprintf("Ethernet%04d", i), Fields: map[string]string{"tx_bytes": fmt.Sprint(r.Uint64() >> 4)}})
			}
			if err := h.Add(f); err != nil {
				t.Fatal(err)
			}
			added = append(added, f)
			if n := h.Octets(); n > most {
				t.Fatalf("each %v, at %v: %d octets", every, at, n)
			}
			if first, _, _ := h.Span(); at.Sub(begin) > reach && at.Sub(first) < reach-every && seed != 5 {
				t.Fatalf("each %v, at %v: it begins at %v", every, at, first)
			}
			if r.IntN(1000) == 0 && back == 0 {
				thinned += checkThinned(t, h, added)
			}
		}
		if thinned += checkThinned(t, h, added); thinned == 0 && every < sparse {
			t.Errorf("each %v: no frame was left out", every)
		}
		first, last, _ := h.Span()
		if got := last.Sub(first); got > reach+5*sparse+2*every {
			t.Errorf("each %v: it has the last %v", every, got)
		}
	}
}

// checkThinned asks a history for all times of frames that were added, and returns how many it left out.
func checkThinned(t *testing.T, h *History, added []*frame.Frame) (left int) {
	t.Helper()
	first, last, _ := h.Span()
	from := slices.IndexFunc(added, func(f *frame.Frame) bool { return f.At.Equal(first) })
	if from < 0 || !added[len(added)-1].At.Equal(last) {
		t.Fatalf("from %v to %v: the newest is of %v", first, last, added[len(added)-1].At)
	}
	added = added[from:]
	var kept []int
	for i, a := range added {
		f, before, err := h.At(t.Context(), a.At)
		if err != nil {
			t.Fatal(err)
		}
		if f.At.Equal(a.At) {
			if !reflect.DeepEqual(a, f) {
				t.Fatal(cmp.Diff(a, f))
			}
			kept = append(kept, i)
		}
		n := len(kept)
		if n == 0 || !f.At.Equal(added[kept[n-1]].At) || (before != nil) != (n > 1) || n > 1 && !before.At.Equal(added[kept[n-2]].At) {
			t.Fatalf("at %v: the frame of %v, and that before it", a.At, f.At)
		}
	}
	whole := false
	for n := 1; n < len(kept); n++ {
		was, is := kept[n-1], kept[n]
		gap := added[is].At.Sub(added[was].At)
		switch {
		case gap < time.Minute && !whole:
			whole = true // the first of those that are all there
		case whole && is != was+1, !whole && added[is-1].At.Sub(added[was].At) >= time.Minute:
			t.Fatalf("%v after %v", added[is].At, added[was].At)
		}
	}
	return len(added) - len(kept)
}

// TestRatesOfAThinnedHistoryAreThoseOfItsFrames: of each minute, the mean.
func TestRatesOfAThinnedHistoryAreThoseOfItsFrames(t *testing.T) {
	h := New(Options{Octets: 40 << 10})
	defer h.Close()
	const seconds = 600
	for n := range seconds {
		f := numbered(n)
		f.Switches[0].Rows[0].Fields = map[string]string{"role": "fabric", "oper_status": "up", "tx_bytes": fmt.Sprint(1_000_000*n + n%2*500_000)}
		if err := h.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	minutes := 0
	for n := range seconds {
		f, before, err := h.At(t.Context(), numbered(n).At)
		if err != nil || f == nil {
			t.Fatalf("at %d s: %v, %v", n, f, err)
		}
		p := picture.Of(f, before)
		if before == nil || f.At.Sub(before.At) < time.Minute {
			continue
		}
		minutes++
		if got := *p.Uplinks[0].Mbps; math.Abs(got-8) > 0.1 {
			t.Errorf("at %v: %g Mbit/s over %v", f.At, got, f.At.Sub(before.At))
		}
	}
	if minutes < 200 {
		t.Errorf("%d pictures are over a minute", minutes)
	}
}

// TestHistoryAnswersAfterAFrameThatIsRefused, which ended a block.
func TestHistoryAnswersAfterAFrameThatIsRefused(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	add(t, h, 0, 8)
	large := numbered(9)
	large.Switches = make([]frame.Switch, 1<<20)
	if err := h.Add(large); err == nil {
		t.Fatal("it is taken")
	}
	if _, last, ok := h.Span(); !ok || !last.Equal(begin.Add(8*time.Second)) {
		t.Errorf("it ends at %v, %t", last, ok)
	}
	check(t, h, 3, 3, 2)
	check(t, h, 9, 8, 7)
	add(t, h, 9, 9)
	check(t, h, 9, 9, 8)
}

// TestHistoryOfLargeFramesIsThinned: a block has 64 MiB at most, less than these.
func TestHistoryOfLargeFramesIsThinned(t *testing.T) {
	noise := make([]byte, 58<<20)
	if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		name   string
		octets int64
		frames [][2]int // seconds, and MiB of noise
		first  int      // seconds: those before do not fit
	}{
		{"three", 100, [][2]int{{0, 30}, {70, 29}, {140, 28}, {210, 20}}, 70},
		{"one behind another", 70, [][2]int{{0, 7}, {10, 7}, {90, 58}, {100, 58}, {110, 0}}, 100},
	}[:racetest.Rounds(2, 1)] {
		h := New(Options{Octets: of.octets << 20})
		defer h.Close()
		for _, f := range of.frames {
			large := numbered(f[0])
			large.Switches[0].Missing = string(noise[:f[1]<<20])
			if err := h.Add(large); err != nil {
				t.Fatalf("%s, at %d s: %v", of.name, f[0], err)
			}
		}
		if first, _, _ := h.Span(); !first.Equal(numbered(of.first).At) {
			t.Errorf("%s: it begins at %v", of.name, first)
		}
	}
}

// TestFramesOfThePastLeaveTheMemory when no one plays on.
func TestFramesOfThePastLeaveTheMemory(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	add(t, h, 0, 20)
	for n := 21; n < 30; n++ {
		check(t, h, float64(n-18), n-18, n-19)
		add(t, h, n, n)
		if h.reader == (frame.Reader{}) {
			t.Fatalf("it is gone after %d s of playing", n-20)
		}
	}
	add(t, h, 30, 31)
	if h.reader != (frame.Reader{}) {
		t.Error("it is still there")
	}
}
