// SPDX-License-Identifier: Apache-2.0

package top

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sluice/yang/rows"
)

// before.json and now.json are rows as Redis held them while a real sluiced
// labelled packets on the software switch; the test that wrote them, with
// -record, is TestTop in tests/e2e.
var update = flag.Bool("update", false, "write the frames into testdata")

// recorded reads rows of a run.
func recorded(t *testing.T, name string) []rows.Row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []rows.Row
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// change returns rows with what f makes of the fields of each.
func change(all []rows.Row, f func(r *rows.Row)) []rows.Row {
	changed := make([]rows.Row, len(all))
	for i, r := range all {
		fields := map[string]string{}
		for name, v := range r.Fields {
			fields[name] = v
		}
		r.Fields = fields
		f(&r)
		changed[i] = r
	}
	return changed
}

// viewOf is what there is to see after two readings.
func viewOf(before, now []rows.Row) *View {
	var h History
	for _, all := range [][]rows.Row{before, now} {
		h.Add(Parse(all, time.Time{}))
	}
	v := h.View("leaf1", h.now.At.Add(300*time.Millisecond), "")
	v.Sort(ByRate)
	return v
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// fits reports whether a frame is no wider and no higher than its layout.
func fits(t *testing.T, frame string, l Layout) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if len(lines) > l.Height && l.Height > 0 {
		t.Errorf("%d lines, want %d at most", len(lines), l.Height)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > l.Width && l.Width > 0 {
			t.Errorf("a line of %d columns, want %d at most: %s", n, l.Width, line)
		}
	}
}

func TestFramesFitTheTerminal(t *testing.T) {
	v := viewOf(recorded(t, "before.json"), recorded(t, "now.json"))
	for _, width := range []int{80, 120, 200} {
		for _, height := range []int{24, 50} {
			l := Layout{Width: width, Height: height, UTF8: true, Order: ByRate, Footer: Footer(ByRate, false)}
			frame := v.Frame(l)
			fits(t, frame, l)
			golden(t, fmt.Sprintf("frame-%dx%d.txt", width, height), frame)
		}
	}
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if frame := v.Frame(Layout{Width: 80, Height: 24, UTF8: true, Order: ByRate, Footer: Footer(ByRate, false)}); !strings.Contains(string(page), "```\n"+frame+"```\n") {
		t.Errorf("docs/operations.md shows another frame than\n%s", frame)
	}
	v.Limit(20)
	golden(t, "frame-plain.txt", v.Frame(Layout{Order: ByRate}))
}

// TestFramesOfTrouble: what is not as it should be, on a switch of many ports
// with long names and addresses.
func TestFramesOfTrouble(t *testing.T) {
	long := func(all []rows.Row, n uint64) []rows.Row {
		all = change(all, func(r *rows.Row) {
			switch r.Table {
			case tableState:
				r.Fields["state"] = "degraded"
				r.Fields["warnings"] = "ECMP does not hash the flow label: set SWITCH_HASH|GLOBAL ecmp_hash@ or manage_switch_hash; port Ethernet400 is not in PORT"
				r.Fields["config_errors"] = "1"
				r.Fields["last_error"] = "create ACL entry: SAI status TABLE_FULL"
			case tableFlow:
				r.Fields["src"], r.Fields["dst"] = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"
			}
		})
		for i := range uint64(64) {
			name := fmt.Sprintf("Ethernet%d", 4*i)
			all = append(all, rows.Row{Table: tablePort, Key: name, Fields: map[string]string{"role": "fabric"}},
				rows.Row{Table: tablePortStats, Key: name, Fields: map[string]string{
					"tx_bytes": fmt.Sprint(n * i * 1e6), "tx_packets": fmt.Sprint(n * i * 1e3), "rx_bytes": "0", "rx_packets": "0",
				}})
		}
		return all
	}
	v := viewOf(long(recorded(t, "before.json"), 1), long(recorded(t, "now.json"), 2))
	for _, l := range []Layout{{Width: 80, Height: 24}, {Width: 120, Height: 50, UTF8: true}} {
		frame := v.Frame(l)
		fits(t, frame, l)
		golden(t, fmt.Sprintf("trouble-%dx%d.txt", l.Width, l.Height), frame)
	}
	for width := 1; width < 130; width++ { // nothing wraps, and nothing panics
		for _, height := range []int{1, 2, 5, 10, 15, 20, 40, 200} {
			l := Layout{Width: width, Height: height, UTF8: width%2 == 0, Order: Orders[width%4]}
			if height%2 == 0 {
				l.Footer = Footer(l.Order, true)
			}
			fits(t, v.Frame(l), l)
			fits(t, Help(l), l)
		}
	}
}

// TestStreamIDs: there is a column for them where it fits, and where a flow has one.
func TestStreamIDs(t *testing.T) {
	given := func(all []rows.Row) []rows.Row {
		return change(all, func(r *rows.Row) {
			if r.Table == tableFlow && r.Fields["dest_qp"] == "256" {
				r.Fields["stream_id"] = "65535"
			}
		})
	}
	v := viewOf(given(recorded(t, "before.json")), given(recorded(t, "now.json")))
	for width, want := range map[int]bool{0: true, 80: false, 119: false, 120: true, 200: true} {
		l := Layout{Width: width, Height: 24, Order: ByRate}
		frame := v.Frame(l)
		if got := strings.Contains(frame, "  6.0%   65535\n") && strings.Contains(frame, "SHARE  STREAM\n"); got != want {
			t.Errorf("width %d: %v, want %v:\n%s", width, got, want, frame)
		}
		if width > 0 {
			fits(t, frame, l)
		}
	}
}

// TestHelpIsWhole on the smallest of usual terminals.
func TestHelpIsWhole(t *testing.T) {
	l := Layout{Width: 80, Height: 24, Footer: Footer(ByRate, false)}
	if got := Help(l); !strings.Contains(got, "\nAny key goes back.\n") || strings.Contains(got, "..\n") {
		t.Errorf("%s", got)
	}
}

func TestASCIIAndColor(t *testing.T) {
	v := viewOf(recorded(t, "before.json"), recorded(t, "now.json"))
	frame := v.Frame(Layout{Width: 80, Height: 24})
	for _, r := range frame {
		if r >= utf8.RuneSelf || r == '\x1b' {
			t.Fatalf("%q in a plain frame", r)
		}
	}
	for state, want := range map[string]string{
		"running": green + "running" + plain, "degraded": yellow + "degraded" + plain, "": red + "not running" + plain,
	} {
		v.State = state
		colored := v.Frame(Layout{Width: 80, Height: 24, Color: true})
		if !strings.Contains(colored, want) || strings.Count(colored, "\x1b[") != 2 {
			t.Errorf("state %q: %q", state, strings.SplitN(colored, "\n", 2)[0])
		}
	}
}

func TestHeaderSays(t *testing.T) {
	all := recorded(t, "now.json")
	before := Parse(recorded(t, "before.json"), time.Time{})
	now := Parse(all, time.Time{})
	var h History
	unread := func() string { return h.View("leaf1", now.At, "the databases cannot be read").Frame(Layout{}) }
	if got, want := unread(), "leaf1  "+now.At.UTC().Format("15:04:05 UTC")+"  unknown\n! the databases cannot be read\n"; got != want {
		t.Errorf("before the first reading: %q, want %q", got, want)
	}
	h.Add(before)
	h.Add(now)
	if got := unread(); !strings.Contains(got, "running") || !strings.Contains(got, "! the databases cannot be read\n") || !strings.Contains(got, "0x000100") {
		t.Errorf("Redis is down, and the last frame does not stay:\n%s", got)
	}
	if got := h.View("leaf1", now.At.Add(20*time.Second), "").Frame(Layout{}); !strings.Contains(got, "! the counters are 20 s old: sluiced does not write any more\n") ||
		!strings.Contains(got, "max / mean - over the 4 fabric ports") {
		t.Errorf("sluiced was killed:\n%s", got)
	}
	many := change(all, func(r *rows.Row) {
		if r.Table == tableState {
			r.Fields["warnings"] = strings.Repeat("\x1b[31mwarn\u2013ing\u009b\u202e; ", 9) + "the last"
		}
	})
	if got := viewOf(nil, many).Frame(Layout{Height: 24}); strings.Count(got, "! ?[31mwarn?ing??\n") != 5 || !strings.Contains(got, "\n! and 5 more\n") {
		t.Errorf("many warnings, with escape codes:\n%q", got)
	}
	if got := viewOf(nil, many).Frame(Layout{UTF8: true}); strings.Count(got, "! ·[31mwarn\u2013ing··\n") != 9 || !strings.Contains(got, "! the last\n") {
		t.Errorf("many warnings, without a limit:\n%q", got)
	}
	gone := change(all, func(r *rows.Row) {
		if r.Table == tableState {
			r.Table = "NONE"
		}
	})
	if got := viewOf(nil, gone).Frame(Layout{}); !strings.Contains(got, "not running\n") || !strings.Contains(got, "! sluiced does not run") {
		t.Errorf("sluiced has ended:\n%s", got)
	}
	hash := change(all, func(r *rows.Row) {
		switch r.Table {
		case tableState:
			r.Fields["flow_label_method"] = "hash"
		case tableFlow:
			r.Table = "NONE"
		}
	})
	if got := viewOf(nil, hash).Frame(Layout{}); !strings.Contains(got, "no flows: method hash keeps none, and no sample came lately") {
		t.Errorf("no flows:\n%s", got)
	}
}
