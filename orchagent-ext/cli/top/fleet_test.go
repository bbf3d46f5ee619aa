// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ofSwitch is the view of a switch after two readings of rows.
func ofSwitch(name string, before, now []string) *View {
	var h History
	h.Add(Parse(table(before...), start))
	h.Add(Parse(table(now...), start))
	return h.View(name, start.Add(2*time.Second), "")
}

// state is the row of a sluiced that runs, or does not.
func state(word string) string {
	return "SLUICE_STATE|global state=" + word + " flows=7 alive=" + start.Add(time.Hour).Format(time.RFC3339)
}

// badFabric has the switches of these tests: each is worse than the next one.
func badFabric() *Fleet {
	uplinks := func(sent int) []string {
		return slices.Concat(port("Ethernet8", "fabric", 0, sent), port("Ethernet12", "fabric", 0, 1000))
	}
	quiet := func(second int) []string { return append(uplinks(1000*second), at(second), state("running")) }
	even := ofSwitch("even", quiet(0), append(slices.Concat(port("Ethernet8", "fabric", 0, 1000), port("Ethernet12", "fabric", 0, 2000)), at(2), state("running")))
	gone := (&History{}).View("gone\x1b[2J", start, "deadline exceeded after 1.5 s")
	return NewFleet(start, []*View{
		even,
		ofSwitch("uneven", append(uplinks(0), at(0), state("running")), append(uplinks(8000), at(2), state("running"))),
		ofSwitch("holds", quiet(0), append(quiet(2), "SLUICE_HOLD|a port=Ethernet8")),
		ofSwitch("drops", append(quiet(0), "SLUICE_QUEUE_STATS|Ethernet8|3 dropped=1"), append(quiet(2), "SLUICE_QUEUE_STATS|Ethernet8|3 dropped=5 watermark_bytes=7000")),
		ofSwitch("degraded", quiet(0), append(uplinks(2000), at(2), state("degraded")+" warnings=hot")),
		ofSwitch("silent", quiet(0), append(uplinks(2000), at(2), strings.ReplaceAll(state("running"), start.Add(time.Hour).Format(time.RFC3339), start.Add(-time.Hour).Format(time.RFC3339)))),
		ofSwitch("stopped", quiet(0), append(uplinks(2000), at(2))),
		gone,
	})
}

// TestWorstSwitchComesFirst: one that does not answer, then those whose sluiced does not run or is silent, then by
// drops, holds and unevenness.
func TestWorstSwitchComesFirst(t *testing.T) {
	var got []string
	for _, s := range badFabric().Switches {
		got = append(got, s.Switch+": "+s.State)
	}
	want := []string{"gone\x1b[2J: no answer", "stopped: not running", "silent: stale", "degraded: degraded", "drops: running", "holds: running", "uneven: running", "even: running"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFleetFitsItsLayout: all lines in a pipe; on a terminal those that fit, with a count of the rest, and a
// switch's own words cannot move the cursor.
func TestFleetFitsItsLayout(t *testing.T) {
	f := badFabric()
	all := f.Frame(Layout{UTF8: true})
	for _, want := range []string{"8 switches  12:00:00 UTC  1 no answer  1 not running  1 stale\n! gone·[2J: deadline exceeded after 1.5 s\n", "! degraded: hot\n", "7.00k Ethernet8 q3"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "\x1b") {
		t.Errorf("%q", all)
	}
	for _, height := range []int{6, 8, 12, 30} {
		for _, width := range []int{40, 80, 120} {
			frame := f.Frame(Layout{Width: width, Height: height, UTF8: true, Footer: FleetFooter(false)})
			lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
			if len(lines) != height || !strings.HasPrefix(lines[len(lines)-1], "q quit") || !strings.Contains(frame, "SWITCH") {
				t.Errorf("%d × %d: %d lines\n%s", width, height, len(lines), frame)
			}
			for _, line := range lines {
				if len([]rune(line)) > width {
					t.Errorf("%d × %d: %q", width, height, line)
				}
			}
		}
	}
	if n := f.Skip(3); n != 3 || f.Switches[0].State != "degraded" || !strings.HasSuffix(f.Frame(Layout{}), "3 above\n") || !strings.HasPrefix(f.Frame(Layout{}), "8 switches  12:00:00 UTC  1 no answer  1 not running  1 stale\n! gone") {
		t.Errorf("%d above:\n%s", n, f.Frame(Layout{}))
	}
	if n := f.Skip(99); n != 4 || len(f.Switches) != 1 {
		t.Errorf("%d above, %d left", n, len(f.Switches))
	}
	help := FleetHelp(Layout{Width: 80, Height: 24})
	if !strings.Contains(help, "DROP/S") || strings.Count(help, "\n") > 24 {
		t.Error(help)
	}
}
