// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/yang/rows"
)

// TestUplinksHaveBars: the longest is of the uplink that carries most, at 80 columns, too; a port
// beside the group has none.
func TestUplinksHaveBars(t *testing.T) {
	v := viewOf(recorded(t, "before.json"), recorded(t, "now.json"))
	for _, utf8 := range []bool{true, false} {
		l := Layout{Width: 80, Height: 24, UTF8: utf8, Order: ByRate}
		frame := v.Frame(l)
		fits(t, frame, l)
		full, part := strings.Repeat("█", barWidth), strings.Repeat("█", 4)
		if !utf8 {
			full, part = strings.Repeat("#", barWidth), "####"
		}
		for _, line := range strings.Split(frame, "\n") {
			fields := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "Ethernet16 ") && fields[len(fields)-1] != full, strings.HasPrefix(line, "Ethernet4 ") && fields[len(fields)-1] != part:
				t.Errorf("UTF-8 %v: %s", utf8, line)
			case strings.HasPrefix(line, "Ethernet0 ") && fields[len(fields)-1] != "-":
				t.Errorf("a port beside the group: %s", line)
			}
		}
	}
}

// TestEvennessHasASparkline of the last readings, each once: it ends at the right with the latest, and
// its lowest level is an even load.
func TestEvennessHasASparkline(t *testing.T) {
	var h History
	sent := [4]int{}
	read := func(second int, more ...int) {
		all := []rows.Row{{Table: tableStats, Key: "global", Fields: map[string]string{"read_time": time.Unix(int64(second), 0).UTC().Format(time.RFC3339Nano)}}}
		for i := range sent {
			sent[i] += more[i]
			name := fmt.Sprint("Ethernet", i)
			all = append(all, rows.Row{Table: tablePort, Key: name, Fields: map[string]string{"role": "fabric"}},
				rows.Row{Table: tablePortStats, Key: name, Fields: map[string]string{"tx_bytes": fmt.Sprint(sent[i]), "tx_packets": "1"}})
		}
		h.Add(Parse(all, time.Unix(int64(second), 0)))
		h.Add(Parse(all, time.Unix(int64(second), 0))) // sluiced has not written since
	}
	line := func(l Layout) string {
		frame := h.View("leaf1", h.now.At, "").Frame(l)
		_, after, _ := strings.Cut(frame, "fabric ports")
		after, _, _ = strings.Cut(after, "\n")
		return after
	}
	read(1, 0, 0, 0, 0)
	if read(2, 400, 0, 0, 0); strings.Contains(line(Layout{UTF8: true}), "█") {
		t.Errorf("one reading: %q", line(Layout{UTF8: true}))
	}
	read(3, 250, 50, 50, 50)
	read(4, 100, 100, 100, 100)
	if got := line(Layout{UTF8: true}); got != "  █▅▁" {
		t.Errorf("%q", got)
	}
	if got := line(Layout{}); got != "  #=_" {
		t.Errorf("%q", got)
	}
	for second := range 50 {
		read(5+second, 100, 100, 100, 100)
	}
	if got := line(Layout{UTF8: true}); got != "  "+strings.Repeat("▁", trendValues) {
		t.Errorf("%q", got)
	}
}
