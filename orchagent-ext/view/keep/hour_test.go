// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"testing"
	"time"

	"sluice/orchagent-ext/view/frame"
)

// TestHourOfBusySwitchesCanBeSeen at each minute of it, with the octets of 128 leaves at a frame a second, in
// proportion: the newest seconds all, before them one frame a minute.
func TestHourOfBusySwitchesCanBeSeen(t *testing.T) {
	t.Parallel()
	const leaves, of, seconds = 1, 128, 4000
	h := New(Options{Octets: Octets * leaves / of})
	defer h.Close()
	var all []*leaf
	for i := range leaves {
		all = append(all, newLeaf(i))
	}
	for n := range seconds {
		f := &frame.Frame{At: begin.Add(time.Duration(n) * time.Second)}
		for _, l := range all {
			f.Switches = append(f.Switches, l.next(f.At))
		}
		if err := h.Add(f); err != nil {
			t.Fatal(err)
		}
		if got := h.Octets(); got > h.options.Octets {
			t.Fatalf("after %d s it has %d octets of %d", n, got, h.options.Octets)
		}
	}
	first, last, _ := h.Span()
	whole, _ := h.blocks[h.thinned].Span()
	t.Logf("it has the last %v, and each frame of %v, in %d octets", last.Sub(first), last.Sub(whole), h.Octets())
	look := func(ago, late time.Duration) {
		t.Helper()
		at := last.Add(-ago)
		f, before, err := h.At(t.Context(), at)
		if err != nil || f == nil || before == nil {
			t.Fatalf("%v ago: %v after %v, %v", ago, f, before, err)
		}
		if at.Sub(f.At) >= late || f.At.Sub(before.At) >= 2*late {
			t.Errorf("%v ago: the frame of %v, after that of %v", ago, f.At, before.At)
		}
	}
	for ago := time.Duration(0); ago <= time.Hour; ago += 20 * time.Second {
		look(ago, time.Minute+time.Second)
	}
	for ago := time.Duration(0); ago <= 15*time.Second; ago += time.Second {
		look(ago, time.Second)
	}
}
