// SPDX-License-Identifier: Apache-2.0

package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/cli/output"
	"sluice/yang/rows"
)

// merged returns the answers of a verb for switches with rows.
func merged(t *testing.T, verb string, of map[string][]rows.Row, order ...string) *Answer {
	t.Helper()
	for _, v := range Verbs {
		if v.Name != verb {
			continue
		}
		var all []Of
		for _, name := range order {
			a, err := v.Show(NewData(of[name]), Options{Now: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)}, false)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, Of{name, a})
		}
		return Merge(all)
	}
	t.Fatalf("no verb %s", verb)
	return nil
}

// lives are rows of a switch whose sluiced runs.
func lives(more ...rows.Row) []rows.Row {
	return append([]rows.Row{{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"state": "running", "alive": "2026-11-27T12:00:00Z", "pfcm": "active", "holds": "1", "warnings": "one; two", "last_error": "bad", "last_error_time": "2026-11-27T11:00:00Z"}}}, more...)
}

func TestStatusOfSwitchesIsALineEach(t *testing.T) {
	wrong := rows.Row{Table: "SLUICE_CONFIG_ERROR", Key: "SLUICE_PORT|Ethernet9", Fields: map[string]string{"field": "name", "value": "Ethernet9", "reason": "no such row in PORT:"}}
	a := merged(t, "status", map[string][]rows.Row{
		"leaf1": lives(), "leaf2": lives(wrong), "leaf3": nil, "leaf4": nil,
	}, "leaf1", "leaf2", "leaf3", "leaf4")
	want := `Switch    State    Pfcm    Holds    Warning    Last error
--------  -------  ------  -------  ---------  -------------------------
leaf1     running  active  1        one; two   bad; 2026-11-27T11:00:00Z
leaf2     running  active  1        one; two   bad; 2026-11-27T11:00:00Z

Rows that are not in force:

Switch    Table        Key        Field    Value      Reason
--------  -----------  ---------  -------  ---------  --------------------
leaf2     SLUICE_PORT  Ethernet9  name     Ethernet9  no such row in PORT:

leaf3, leaf4: ` + (&StaleError{}).Error() + "\n"
	if diff := cmp.Diff(want, a.Text(output.Style{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.Stale == nil {
		t.Error("no switch is stale")
	}
	encoded, err := json.Marshal(a.JSON)
	if err != nil || !strings.HasPrefix(string(encoded), `[{"switch":"leaf1","answer":{"config_errors":[],"state":{`) {
		t.Errorf("%s, %v", encoded, err)
	}
}

// TestTablesWithOtherColumnsAreJoined: a column that only one switch has is empty elsewhere.
func TestTablesWithOtherColumnsAreJoined(t *testing.T) {
	flow := func(more ...string) rows.Row {
		f := map[string]string{"src": "2001:db8::1", "dst": "2001:db8::2", "dest_qp": "7", "flow_label": "9", "packets": "1", "bytes": "2"}
		for i := 0; i+1 < len(more); i += 2 {
			f[more[i]] = more[i+1]
		}
		return rows.Row{Table: "SLUICE_FLOW", Key: "x", Fields: f}
	}
	a := merged(t, "flows", map[string][]rows.Row{
		"leaf1": lives(flow("ingress_port", "Ethernet0")), "leaf2": lives(flow("egress_port", "Ethernet4")), "leaf3": lives(), "leaf4": lives(),
	}, "leaf1", "leaf2", "leaf3", "leaf4")
	want := `Switch    Source       Destination    DestQP    Label    In         Out        Packets    Bytes
--------  -----------  -------------  --------  -------  ---------  ---------  ---------  -------
leaf1     2001:db8::1  2001:db8::2    0x000007  0x00009  Ethernet0             1          2
leaf2     2001:db8::1  2001:db8::2    0x000007  0x00009             Ethernet4  1          2

leaf3, leaf4: No flows.
`
	if diff := cmp.Diff(want, a.Text(output.Style{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSwitchesFitTheTerminal: a narrow one has the first columns of a line of pairs.
func TestSwitchesFitTheTerminal(t *testing.T) {
	a := merged(t, "status", map[string][]rows.Row{"leaf1": lives()}, "leaf1")
	if got, want := a.Text(output.Style{Width: 30}), "Switch    State    Pfcm\n--------  -------  ------\nleaf1     running  active\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEveryVerbIsMerged: each command has an answer of switches with rows, without, and with odd ones.
func TestEveryVerbIsMerged(t *testing.T) {
	for _, v := range Verbs {
		a := merged(t, v.Name, map[string][]rows.Row{"leaf1": lives(), "leaf2": nil}, "leaf1", "leaf2", "leaf1")
		if got := a.Text(output.Style{}); !strings.HasPrefix(got, columnSwitch+"  ") && !strings.Contains(got, "leaf1") {
			t.Errorf("%s: %q", v.Name, got)
		}
	}
	if a := Merge(nil); a.Text(output.Style{}) != "" || a.Stale != nil {
		t.Errorf("no switch: %+v", a)
	}
}
