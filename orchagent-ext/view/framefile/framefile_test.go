// SPDX-License-Identifier: Apache-2.0

package framefile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// start is the time of the first frame of tests.
var start = time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC)

// numbered returns the n-th frame of a switch, at n seconds, with so many rows that do not compress.
func numbered(n, ballast int) *frame.Frame {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	f := &frame.Frame{At: start.Add(time.Duration(n) * time.Second), Switches: []frame.Switch{{Name: "leaf1"}}}
	for i := range ballast {
		f.Switches[0].Rows = append(f.Switches[0].Rows, rows.Row{Table: "SLUICE_PORT_STATS", Key: fmt.Sprintf("Ethernet%04d", i), Fields: map[string]string{"tx_bytes": fmt.Sprint(r.Uint64() >> 4)}})
	}
	return f
}

// written writes the frames from one number to another, without closing the file.
func written(t *testing.T, w *Writer, from, to, ballast int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := w.Add(numbered(n, ballast)); err != nil {
			t.Fatal(err)
		}
	}
}

// created creates a record.
func created(t *testing.T, name string, o Options) *Writer {
	t.Helper()
	w, err := Create(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// reopened opens a record.
func reopened(t *testing.T, name string) *File {
	t.Helper()
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// has checks that a record has all frames from one number to another, and no other.
func has(t *testing.T, f *File, from, to, ballast int) {
	t.Helper()
	first, last, ok := f.Span()
	if !ok || !first.Equal(numbered(from, 0).At) || !last.Equal(numbered(to, 0).At) {
		t.Fatalf("it has %v to %v, %t", first, last, ok)
	}
	if f.Frames() != to-from+1 {
		t.Errorf("it has %d frames", f.Frames())
	}
	for n := from; n <= to; n++ {
		want := numbered(n, ballast)
		is, before, err := f.At(t.Context(), want.At.Add(time.Second/2))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, is) {
			t.Fatal(cmp.Diff(want, is))
		}
		if (before == nil) != (n == from) || before != nil && !before.At.Equal(numbered(n-1, 0).At) {
			t.Fatalf("frame %d: before it is %v", n, before)
		}
	}
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.record")
	w := created(t, name, Options{Size: 10 << 20})
	written(t, w, 0, 35, 3)
	if frames, first, last := w.Added(); frames != 36 || !first.Equal(start) || !last.Equal(start.Add(35*time.Second)) {
		t.Errorf("%d from %v to %v", frames, first, last)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	has(t, reopened(t, name), 0, 35, 3)

	w = created(t, name, Options{Size: 10 << 20}) // it goes on
	written(t, w, 36, 40, 3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := reopened(t, name)
	has(t, f, 0, 40, 3)
	if f.Note() != "" {
		t.Errorf("note %q", f.Note())
	}

	w = created(t, name, Options{Size: 10 << 20, Replace: true})
	written(t, w, 50, 52, 3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	has(t, reopened(t, name), 50, 52, 3)
}

// TestRecordOfAKilledProcessLosesTheOpenBlock at most, and goes on.
func TestRecordOfAKilledProcessLosesTheOpenBlock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.record")
	w := created(t, name, Options{Size: 10 << 20})
	written(t, w, 0, 27, 3)
	f := reopened(t, name)
	_, last, _ := f.Span()
	if lost := start.Add(27 * time.Second).Sub(last); lost > blockSpan+time.Second {
		t.Errorf("it loses %v", lost)
	}
	has(t, f, 0, int(last.Sub(start)/time.Second), 3)
	_ = w.file.Close() // as a kill does
	w = created(t, name, Options{Size: 10 << 20})
	written(t, w, 28, 30, 3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, last, _ := reopened(t, name).Span(); !last.Equal(start.Add(30 * time.Second)) {
		t.Errorf("it ends at %v", last)
	}
}

func TestRecordThatIsCutIsReadUpToThere(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "a.record")
	w := created(t, name, Options{Size: 10 << 20})
	written(t, w, 0, 40, 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int]int{len(begin): -1} // octets of the file, by the last frame that it then has
	for i, p := range w.all {
		_, last := p.Span()
		ends[int(p.at+p.Size())] = int(last.Sub(start) / time.Second)
		if i == 0 && p.at != int64(len(begin)) {
			t.Errorf("the first block begins at %d", p.at)
		}
	}
	if len(ends) < 4 {
		t.Fatalf("%d blocks", len(ends))
	}
	cut := filepath.Join(folder, "cut.record")
	if err := os.WriteFile(cut, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for n := len(whole); n >= 0; n-- {
		if err := os.Truncate(cut, int64(n)); err != nil {
			t.Fatal(err)
		}
		f, err := Open(cut)
		if err != nil {
			t.Fatalf("%d octets: %v", n, err)
		}
		last := -1 // the frame at which the blocks end that are whole
		for end, frame := range ends {
			if end <= n {
				last = max(last, frame)
			}
		}
		_, atEnd := ends[n]
		if (f.Note() == "") != atEnd {
			t.Fatalf("%d octets: note %q", n, f.Note())
		}
		if _, got, ok := f.Span(); ok != (last >= 0) || ok && !got.Equal(numbered(last, 0).At) {
			t.Fatalf("%d octets: it ends at %v, not at frame %d", n, got, last)
		}
		_ = f.Close()
	}
	// where octets are lost in the middle, what is before them is read
	second := w.all[1]
	bad := append(append([]byte{}, whole[:second.at+3]...), whole[second.at+20:]...)
	if err := os.WriteFile(cut, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	f := reopened(t, cut)
	if !strings.Contains(f.Note(), "damaged") {
		t.Errorf("note %q", f.Note())
	}
	_, firstEnds := w.all[0].Span()
	has(t, f, 0, int(firstEnds.Sub(start)/time.Second), 2)
	// a damaged block is an error of its own frames alone
	bad = append([]byte{}, whole...)
	bad[second.at+frame.HeadSize+5] ^= 1
	if err := os.WriteFile(cut, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	f = reopened(t, cut)
	from, _ := second.Span()
	if _, _, err := f.At(t.Context(), from); !errors.Is(err, frame.ErrDamaged) || !strings.Contains(err.Error(), cut) {
		t.Errorf("in the block: %v", err)
	}
	third, _ := w.all[2].Span()
	if is, before, err := f.At(t.Context(), third); err != nil || is == nil || before != nil {
		t.Errorf("behind it: %v, before it %v, %v", is, before, err)
	}
}

// TestRecordHasItsSizeAtMost, with the file that replaces it, and then has the newest frames.
func TestRecordHasItsSizeAtMost(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "a.record")
	const size, ballast = Smallest, 1000
	w := created(t, name, Options{Size: size})
	shrunk := 0
	for n := range 400 {
		before := w.end
		if err := w.Add(numbered(n, ballast)); err != nil {
			t.Fatal(err)
		}
		if w.end < before {
			shrunk++
			if w.end < size/4 {
				t.Errorf("frame %d: it has %d octets left of %d", n, w.end, before)
			}
		}
		if info, err := os.Stat(name); err != nil || info.Size() != w.Size() || info.Size() > w.most() {
			t.Fatalf("frame %d: %v has %d octets, %v", n, info.Size(), w.Size(), err)
		}
	}
	// the file that replaces it has a part of the size, and it has no more than the others
	if w.most()+size/parts > size || shrunk < 3 {
		t.Errorf("%d octets of %d, %d times shrunk", w.most(), size, shrunk)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(folder)
	if err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	f := reopened(t, name)
	first, _, _ := f.Span()
	has(t, f, int(first.Sub(start)/time.Second), 399, ballast)

	// one that is larger is cut to a smaller size
	w = created(t, name, Options{Size: Smallest})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRecordGoesOnWithASmallerSize(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.record")
	w := created(t, name, Options{Size: 100 << 20})
	written(t, w, 0, 199, 2000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = created(t, name, Options{Size: Smallest})
	if w.end > w.most() {
		t.Errorf("it has %d octets", w.end)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, last, ok := reopened(t, name).Span(); !ok || !last.Equal(start.Add(199*time.Second)) {
		t.Errorf("it ends at %v", last)
	}
}

func TestRecordRefusesOtherFiles(t *testing.T) {
	folder := t.TempDir()
	other := filepath.Join(folder, "other")
	if err := os.WriteFile(other, []byte("hello, world: no record"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other); !errors.Is(err, ErrFormat) {
		t.Errorf("opened: %v", err)
	}
	if _, err := Open(folder); err == nil {
		t.Error("a folder is opened")
	}
	if _, err := Create(other, Options{Size: Smallest}); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("created: %v", err)
	}
	if content, err := os.ReadFile(other); err != nil || !strings.HasPrefix(string(content), "hello") {
		t.Errorf("it is now %q, %v", content, err)
	}
	if _, err := Create(filepath.Join(folder, "small"), Options{Size: Smallest - 1}); err == nil {
		t.Error("a size of 1 less is taken")
	}
	w := created(t, other, Options{Size: Smallest, Replace: true})
	if _, err := Create(other, Options{Size: Smallest}); !errors.Is(err, ErrBusy) {
		t.Errorf("a second writer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if f := reopened(t, other); f.Frames() != 0 || f.Note() != "" {
		t.Errorf("%d frames, %q", f.Frames(), f.Note())
	}
}

// TestRecordHasTheTimesOfAClockThatIsSetBack once: what was written later hides earlier frames of the same
// times, and the frames of a file are in order.
func TestRecordHasTheTimesOfAClockThatIsSetBack(t *testing.T) {
	for name, of := range map[string]struct {
		added, want [][2]int // from one number to another
		hidden      string
	}{
		"to a time before":   {[][2]int{{20, 25}, {0, 3}}, [][2]int{{0, 3}, {20, 25}}, ""},
		"and on for long":    {[][2]int{{0, 39}, {15, 44}}, [][2]int{{0, 9}, {15, 44}}, "30 earlier frames"},
		"for one frame":      {[][2]int{{100, 139}, {0, 0}, {140, 145}}, [][2]int{{0, 0}, {100, 145}}, ""},
		"by less than block": {[][2]int{{0, 8}, {5, 7}, {9, 12}}, [][2]int{{5, 7}, {9, 12}}, "9 earlier frames"},
		"twice":              {[][2]int{{0, 19}, {12, 14}, {11, 25}}, [][2]int{{0, 9}, {11, 25}}, "13 earlier frames"},
		"to a slower pace":   {[][2]int{{0, 39}, {5, 5}, {25, 25}, {45, 45}}, [][2]int{{5, 5}, {25, 25}, {45, 45}}, "40 earlier frames"},
		"with a long pause":  {[][2]int{{200, 209}, {90, 95}, {300, 305}}, [][2]int{{90, 95}, {200, 209}, {300, 305}}, ""},
	} {
		file := filepath.Join(t.TempDir(), "a.record")
		w := created(t, file, Options{Size: 10 << 20})
		for _, s := range of.added {
			written(t, w, s[0], s[1], 1)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var want []time.Time
		for _, s := range of.want {
			for n := s[0]; n <= s[1]; n++ {
				want = append(want, numbered(n, 0).At)
			}
		}
		f := reopened(t, file)
		if first, last, ok := f.Span(); !ok || !first.Equal(want[0]) || !last.Equal(want[len(want)-1]) || f.Frames() != len(want) {
			t.Errorf("%s: from %v to %v, %d frames", name, first, last, f.Frames())
		}
		for i := len(want) - 1; i >= 0; i-- { // each is sought
			is, before, err := f.At(t.Context(), want[i].Add(time.Second/2))
			if err != nil || is == nil || !is.At.Equal(want[i]) || (before != nil) != (i > 0) || i > 0 && !before.At.Equal(want[i-1]) {
				t.Errorf("%s: at %v: %v after %v, %v", name, want[i], is, before, err)
			}
		}
		if !strings.Contains(f.Note(), of.hidden) || (of.hidden == "") != (f.Note() == "") {
			t.Errorf("%s: note %q", name, f.Note())
		}
	}
}

// TestSlowRecordLosesNoFrame but the first one: the next is later than a block may wait.
func TestSlowRecordLosesNoFrame(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.record")
	w := created(t, name, Options{Size: 10 << 20})
	for n := 0; n < 300; n += 60 {
		written(t, w, n, n, 1)
		if f := reopened(t, name); n > 0 && f.Frames() != n/60+1 {
			t.Errorf("%d s: %d frames", n, f.Frames())
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRecordThatIsDamagedIsNotWrittenOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.record")
	w := created(t, name, Options{Size: 10 << 20})
	written(t, w, 0, 40, 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bad, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bad[w.all[1].at+9] ^= 1
	if err := os.WriteFile(name, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(name, Options{Size: 10 << 20}); !errors.Is(err, frame.ErrDamaged) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("it goes on: %v", err)
	}
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, bad) {
		t.Errorf("it has %d octets of %d: %v", len(after), len(bad), err)
	}
}

// TestRecordThatIsReplacedMeanwhileIsBusy: the process that opened the old file would write into one without
// a name.
func TestRecordThatIsReplacedMeanwhileIsBusy(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.record")
	if err := created(t, name, Options{Size: Smallest}).Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Rename(name, name+".old"); err != nil {
		t.Fatal(err)
	}
	if err := created(t, name, Options{Size: Smallest}).Close(); err != nil {
		t.Fatal(err)
	}
	w := &Writer{name: name, size: Smallest, file: old}
	if err := w.begin(false); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
}

// TestRecordOfALinkIsInTheFileBehindIt: one that was not there yet, too, and after it was replaced.
func TestRecordOfALinkIsInTheFileBehindIt(t *testing.T) {
	folder := t.TempDir()
	name, link := filepath.Join(folder, "a.record"), filepath.Join(folder, "link")
	if err := os.Symlink("a.record", link); err != nil {
		t.Fatal(err)
	}
	w := created(t, link, Options{Size: Smallest})
	written(t, w, 0, 199, 1000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	first, last, ok := reopened(t, name).Span()
	if !ok || !first.After(start) || !last.Equal(numbered(199, 0).At) {
		t.Errorf("from %v to %v", first, last)
	}
	if to, err := os.Readlink(link); err != nil || to != "a.record" {
		t.Errorf("the link is %q, %v", to, err)
	}
}

func TestFrameThatIsLargerThanTheSizeIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.record")
	w := created(t, name, Options{Size: Smallest})
	err := w.Add(numbered(0, 80_000))
	if err == nil {
		err = w.Flush()
	}
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
