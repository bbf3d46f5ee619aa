// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/yang/rows"
)

// Held flows show by whom and for how long, the longest first; and nothing where nothing
// is held.
func TestHeldFlows(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 10, 0, time.UTC)
	hold := func(n int, since string) rows.Row {
		return rows.Row{Table: "SLUICE_HOLD", Key: fmt.Sprint(n), Fields: map[string]string{
			"from": fmt.Sprintf("fe80::%d", n), "port": "Ethernet0", "queue": "3", "stream_id": fmt.Sprint(n), "state": "held",
			"since": since, "waiting_bytes": "4096", "src": "2001:db8::1", "dst": "2001:db8::2",
		}}
	}
	all := []rows.Row{
		{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"state": "running", "pfcm": "active"}},
		hold(2, "2026-11-21T12:00:08.5Z"), hold(1, "2026-11-21T12:00:00Z"),
	}
	v := Compare(nil, Parse(all, at))
	if v.PFCM != "active" || len(v.Holds) != 2 || v.Holds[0].From != "fe80::1" || v.Holds[0].Seconds.value != 10 || v.Holds[1].Seconds.value != 1.5 {
		t.Errorf("%s, %+v", v.PFCM, v.Holds)
	}
	frame := v.Frame(Layout{})
	for _, want := range []string{"HELD BY", "fe80::1  Ethernet0  0x0001      3  held   10.0s", "1.5s", "2001:db8::1 > 2001:db8::2"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
	}
	for i := range 5 {
		all = append(all, hold(10+i, "2026-11-21T12:00:09Z"))
	}
	if frame := Compare(nil, Parse(all, at)).Frame(Layout{}); !strings.Contains(frame, "and 3 more") {
		t.Errorf("what is left out is not said:\n%s", frame)
	}
	for _, height := range []int{3, 10, low - 1, low, 40} {
		frame := Compare(nil, Parse(all, at)).Frame(Layout{Width: 40, Height: height})
		if inTable, inHeader := strings.Contains(frame, "HELD BY"), strings.Contains(frame, "  7 held"); inTable == inHeader || inTable != (height >= low) {
			t.Errorf("%d lines: held flows are in the table: %v, in the header: %v\n%s", height, inTable, inHeader, frame)
		}
	}
	if frame := Compare(nil, Parse(all[:1], at)).Frame(Layout{}); strings.Contains(frame, "HELD") {
		t.Errorf("nothing is held:\n%s", frame)
	}
}
