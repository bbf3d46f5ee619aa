// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/statefile"
	"sluice/orchagent-ext/telemetry"
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
		"a row of Sluice is missing":       {[]rows.Row{port, label}, false, true, []rows.Row{port}, settle},
		"a port is missing":                {[]rows.Row{port, label}, false, true, []rows.Row{label}, settle},
		"not known what was in force":      {nil, false, true, []rows.Row{port, label}, settle},
		"known of other databases":         {[]rows.Row{port, label}, true, true, []rows.Row{port, label}, settle},
		"other databases, an empty switch": {[]rows.Row{port, label}, true, false, []rows.Row{port}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := databases(t)
			c := Config{Databases: d, StateFile: filepath.Join(t.TempDir(), "rows.json"), Log: slog.New(slog.DiscardHandler), Now: time.Now}
			o, closed, err := open(c)
			if err != nil {
				t.Fatal(err)
			}
			defer closed()
			if tt.kept != nil {
				of := o.keeper.database
				if tt.other {
					of = "other"
				}
				if err := statefile.Write(c.StateFile, kept{of, tt.kept}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if tt.objects {
				write(t, o.stateDB, rows.Row{Table: telemetry.TableObject, Key: "oid:0x1", Fields: map[string]string{"key": "k", "type": "acl-table"}})
			}
			var b sonicdb.Batch
			for _, r := range tt.first {
				b.Changes = append(b.Changes, set(r))
			}
			if due := o.change(t.Context(), b); due != tt.want {
				t.Errorf("acts in %v, want %v", due, tt.want)
			}
			if tt.want == 0 || tt.kept == nil || tt.other {
				return
			}
			if due := o.change(t.Context(), sonicdb.Batch{Changes: []sonicdb.Change{set(port), set(label)}}); due != 0 {
				t.Errorf("with all rows acts in %v", due)
			}
		})
	}
}

// TestKeeper: what is in force is read back, and a folder that cannot be written is
// said.
func TestKeeper(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.json")
	k := newKeeper(file, "db")
	k.keep([]rows.Row{{Table: "B", Key: "1"}, {Table: "A", Key: "1", Fields: map[string]string{"x": "1"}}})
	ctx, stop := context.WithCancel(t.Context())
	stop() // it writes what it was given
	if err := k.run(ctx); err != nil || k.warning() != "" {
		t.Fatalf("%v, %q", err, k.warning())
	}
	got, err := newKeeper(file, "db").read()
	if err != nil || len(got) != 2 || got[0].Table != "A" || got[0].Fields["x"] != "1" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := newKeeper(file, "another").read(); err != nil || len(got) != 0 {
		t.Errorf("of other databases: %v, %v", got, err)
	}
	k = newKeeper("/proc/no/rows.json", "db")
	k.keep([]rows.Row{})
	if err := k.run(ctx); err != nil || k.warning() == "" {
		t.Errorf("%v, warning %q", err, k.warning())
	}
}
