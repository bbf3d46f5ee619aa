// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sluice/tests/redistest"

	"sluice/orchagent-ext/daemon/memory"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

// TestStartSettles: the first rows of CONFIG_DB are acted on at once, unless rows are
// missing that were in force before, and SONiC does not say that it has loaded all.
func TestStartSettles(t *testing.T) {
	label := rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled"}}
	port := rows.Row{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0"}}
	for name, tt := range map[string]struct {
		kept    []rows.Row // in the state file; nil: there is none
		other   bool       // that is of other databases
		objects bool       // on the switch
		first   []rows.Row
		want    time.Duration
	}{
		"a first start":                    {nil, false, false, []rows.Row{port}, 0},
		"all is there":                     {[]rows.Row{port, label}, false, true, []rows.Row{port, label}, 0},
		"a row of Sluice is missing":       {[]rows.Row{port, label}, false, true, []rows.Row{port}, SettleTime},
		"a port is missing":                {[]rows.Row{port, label}, false, true, []rows.Row{label}, SettleTime},
		"not known what was in force":      {nil, false, true, []rows.Row{port, label}, SettleTime},
		"known of other databases":         {[]rows.Row{port, label}, true, true, []rows.Row{port, label}, SettleTime},
		"other databases, an empty switch": {[]rows.Row{port, label}, true, false, []rows.Row{port}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := redistest.Databases(t)
			file, stateDB := filepath.Join(t.TempDir(), "rows.json"), redistest.Open(t, d, "STATE_DB")
			s := New(redistest.Open(t, d, "CONFIG_DB"), stateDB, file, slog.New(slog.DiscardHandler), time.Now)
			if tt.kept != nil {
				earlier := s.inForce
				if tt.other {
					earlier = memory.NewInForce(file, "other")
				}
				earlier.Keep(slices.Clone(tt.kept))
				ended, end := context.WithCancel(t.Context())
				end()
				if err := earlier.Run(ended); err != nil { // it writes the rows that it was given before
					t.Fatal(err)
				}
			}
			if tt.objects {
				redistest.Write(t, stateDB, rows.Row{Table: telemetry.TableObject, Key: "oid:0x1", Fields: map[string]string{"key": "k", "type": "acl-table"}})
			}
			var b sonicdb.Batch
			for _, r := range tt.first {
				b.Changes = append(b.Changes, sonicdb.Change{Row: r})
			}
			if due := s.Apply(t.Context(), b); due != tt.want {
				t.Errorf("acts in %v, want %v", due, tt.want)
			}
			if tt.want == 0 || tt.kept == nil || tt.other {
				return
			}
			if due := s.Apply(t.Context(), sonicdb.Batch{Changes: []sonicdb.Change{{Row: port}, {Row: label}}}); due != 0 {
				t.Errorf("with all rows acts in %v", due)
			}
		})
	}
}

// TestPortsLostWhileRowsComeBack: while SONiC loads CONFIG_DB, and loads it again before it
// was complete, the last complete configuration is in force; where there was none, nothing is
// done until ports are there again.
func TestPortsLostWhileRowsComeBack(t *testing.T) {
	label := rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled"}}
	port := rows.Row{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0"}}
	for name, complete := range map[string]bool{"after a complete configuration": true, "at the start": false} {
		t.Run(name, func(t *testing.T) {
			d := redistest.Databases(t)
			stateDB := redistest.Open(t, d, "STATE_DB")
			// Objects of an earlier process: the start is blind.
			redistest.Write(t, stateDB, rows.Row{Table: telemetry.TableObject, Key: "oid:0x1", Fields: map[string]string{"key": "k", "type": "acl-table"}})
			s := New(redistest.Open(t, d, "CONFIG_DB"), stateDB, "", slog.New(slog.DiscardHandler), time.Now)
			apply := func(deleted bool, all ...rows.Row) time.Duration {
				var b sonicdb.Batch
				for _, r := range all {
					b.Changes = append(b.Changes, sonicdb.Change{Row: r, Deleted: deleted})
				}
				return s.Apply(t.Context(), b)
			}
			if complete {
				apply(false, port, label)
				s.Confirm()
				apply(true, port, label)
			}
			if due := apply(false, port); due != SettleTime {
				t.Fatalf("one row of two: acts in %v", due)
			}
			due := apply(true, port)
			if !s.Phase().Unloaded() {
				t.Fatalf("phase %d", s.Phase())
			}
			if !complete {
				if due < time.Minute {
					t.Errorf("acts in %v on a configuration that was never complete", due)
				}
				return
			}
			if s.snapshot.FlowLabel.AdminState != config.Enabled || len(s.snapshot.SwitchPorts) != 1 {
				t.Errorf("in force is %+v", s.snapshot)
			}
		})
	}
}
