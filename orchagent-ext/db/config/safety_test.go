// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// TestBadFieldNeverUndoesAKillSwitch: whatever else is wrong with a row, what it
// switches off is off, before a restart and after it, and stays off until the row is
// valid.
func TestBadFieldNeverUndoesAKillSwitch(t *testing.T) {
	type fields = map[string]string
	port := rows.Row{Table: "PORT", Key: "Ethernet0", Fields: fields{"lanes": "0"}}
	for name, tt := range map[string]struct {
		table, key string
		good       fields // before; nil: there was no row
		bad        fields
		want       fields // in force; nil: nothing
	}{
		"off, then a bad field":        {"SLUICE", "global", fields{"admin_state": "disabled", "cpu_rate": "7"}, fields{"admin_state": "disabled", "cpu_rate": "many"}, fields{"admin_state": "disabled", "cpu_rate": "7"}},
		"off with a bad field":         {"SLUICE", "global", fields{"cpu_rate": "7"}, fields{"admin_state": "disabled", "cpu_rate": "many"}, fields{"admin_state": "disabled", "cpu_rate": "7"}},
		"off with a field of none":     {"SLUICE", "global", fields{"cpu_rate": "7"}, fields{"admin_state": "disabled", "cpu_speed": "1"}, fields{"admin_state": "disabled", "cpu_rate": "7"}},
		"never good":                   {"SLUICE", "global", nil, fields{"admin_state": "disabled", "cpu_rate": "many"}, fields{"admin_state": "disabled"}},
		"never good, and not readable": {"SLUICE", "global", nil, fields{"admin_state": "of"}, fields{"admin_state": "disabled"}},
		"never good, and on":           {"SLUICE", "global", nil, fields{"admin_state": "enabled", "cpu_rate": "many"}, nil},
		"good, and not readable now":   {"SLUICE", "global", fields{"admin_state": "enabled"}, fields{"admin_state": "of"}, fields{"admin_state": "enabled"}},
		"on with a bad field":          {"SLUICE", "global", fields{"admin_state": "disabled"}, fields{"admin_state": "enabled", "cpu_rate": "many"}, fields{"admin_state": "disabled"}},
		"labels off":                   {"SLUICE_FLOW_LABEL", "global", fields{"admin_state": "enabled"}, fields{"admin_state": "disabled", "algorithm": "md5"}, fields{"admin_state": "disabled"}},
		"labels on":                    {"SLUICE_FLOW_LABEL", "global", fields{"admin_state": "enabled"}, fields{"admin_state": "enabled", "algorithm": "md5"}, fields{"admin_state": "enabled"}},
		"a port off":                   {"SLUICE_PORT", "Ethernet0", fields{"role": "edge"}, fields{"role": "core", "flow_label": "disabled"}, fields{"role": "edge", "flow_label": "disabled"}},
		"a port off, never good":       {"SLUICE_PORT", "Ethernet0", nil, fields{"role": "core", "flow_label": "disabled"}, fields{"flow_label": "disabled"}},
		"a port that is not there":     {"SLUICE_PORT", "Ethernet4", nil, fields{"role": "core", "flow_label": "disabled"}, nil},
		"a port of a bad role":         {"SLUICE_PORT", "Ethernet0", fields{"role": "edge"}, fields{"role": "core"}, fields{"role": "edge"}},
	} {
		t.Run(name, func(t *testing.T) {
			row := func(f fields) sonicdb.Change {
				return sonicdb.Change{Row: rows.Row{Table: tt.table, Key: tt.key, Fields: f}}
			}
			check := func(what string, st *State) {
				t.Helper()
				var got fields
				for n, v := range st.inForce {
					if n.table == tt.table && n.key == tt.key {
						got = v.row.Fields
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", what, diff)
				}
				if s := st.snapshot(); len(s.Rejections) != 1 {
					t.Errorf("%s: rejections %v", what, s.Rejections)
				}
			}
			st := New()
			st.Apply([]sonicdb.Change{{Row: port}})
			if tt.good != nil {
				st.Apply([]sonicdb.Change{row(tt.good)})
			}
			before := st.Known()
			st.Apply([]sonicdb.Change{row(tt.bad)})
			check("written", st)
			st.Apply([]sonicdb.Change{row(maps.Clone(tt.bad))})
			check("written twice", st)

			again := New() // it was written while sluiced did not run
			again.Remember(before)
			again.Apply([]sonicdb.Change{{Row: port}, row(tt.bad)})
			check("at a start", again)

			third := New()
			third.Remember(again.Known())
			third.Apply([]sonicdb.Change{{Row: port}, row(tt.bad)})
			check("at another start", third)
		})
	}
}

// TestCompleteKnowsWhatIsMissing: CONFIG_DB is complete when each row that was known
// is there again, Sluice's in force.
func TestCompleteKnowsWhatIsMissing(t *testing.T) {
	all := []sonicdb.Change{
		{Row: rows.Row{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0"}}},
		{Row: rows.Row{Table: "PORTCHANNEL", Key: "PortChannel1"}},
		{Row: rows.Row{Table: "PORTCHANNEL_MEMBER", Key: "PortChannel1|Ethernet0"}},
		{Row: rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"cpu_rate": "7"}}},
		{Row: rows.Row{Table: "SLUICE_PORT", Key: "PortChannel1", Fields: map[string]string{"role": "edge"}}},
	}
	st := New()
	if !st.Complete() {
		t.Error("nothing is known, and something is missing")
	}
	st.Apply(all)
	known := st.Known()
	for i := range all {
		st := New()
		st.Remember(known)
		st.Apply(slices.Delete(slices.Clone(all), i, i+1))
		if st.Complete() {
			t.Errorf("complete without %s", all[i].Row.Name())
		}
		st.Apply(all[i : i+1])
		if !st.Complete() {
			t.Errorf("not complete with %s", all[i].Row.Name())
		}
	}
	st = New() // CONFIG_DB is emptied, and loaded again
	st.Apply(all)
	var gone []sonicdb.Change
	for _, c := range all {
		gone = append(gone, sonicdb.Change{Row: rows.Row{Table: c.Row.Table, Key: c.Row.Key}, Deleted: true})
	}
	st.Apply(gone)
	if st.Complete() {
		t.Error("complete, though all rows are gone")
	}
	bad := sonicdb.Change{Row: rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"cpu_rate": "many"}}}
	if s, _ := st.Apply([]sonicdb.Change{bad}); *s.Global.CpuRate != 7 {
		t.Errorf("cpu_rate %d, want what was in force", *s.Global.CpuRate)
	}

	st = New()
	st.Remember(known)
	st.Apply(all[:3])
	st.Forget()
	if !st.Complete() {
		t.Error("what was forgotten is missing")
	}
	st.Apply([]sonicdb.Change{bad})
	if len(st.snapshot().LastGood) > 0 {
		t.Errorf("what was forgotten is in force: %v", st.snapshot().LastGood)
	}
}
