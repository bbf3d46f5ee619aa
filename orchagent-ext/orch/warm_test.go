// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/fabric/privateredis"
	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/rows"
)

// The row of a process as swss-common's WarmStart writes it.
func TestWarmRestart(t *testing.T) {
	type fields = map[string]string
	warm := []string{warmInitialized, warmRestored, warmReplayed, warmReconciled}
	for name, tt := range map[string]struct {
		enable fields            // by key
		left   map[string]string // the row of an earlier process
		count  string
		states []string // by turns
	}{
		"no warm restart":      {nil, fields{"restore_count": "3", "state": warmReconciled}, "0", []string{warmDisabled}},
		"switched off":         {fields{"system": "false", "sluice": "false"}, fields{"restore_count": "3"}, "0", []string{warmDisabled}},
		"of another service":   {fields{"swss": "true"}, fields{"restore_count": "3"}, "0", []string{warmDisabled}},
		"of the system":        {fields{"system": "true"}, fields{"restore_count": "0"}, "1", warm},
		"of the service":       {fields{"system": "false", "sluice": "true"}, fields{"restore_count": "3", "state": warmReconciled}, "4", warm},
		"nothing to restore":   {fields{"system": "true"}, nil, "0", []string{warmDisabled}},
		"a count that is none": {fields{"system": "true"}, fields{"restore_count": "x"}, "0", []string{warmDisabled}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := privateredis.Start(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			databases, err := sonicdb.Load(s.Config, "")
			if err != nil {
				t.Fatal(err)
			}
			db, err := sonicdb.Open(databases, "STATE_DB", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for key, enable := range tt.enable {
				write(t, db, rows.Row{Table: tableWarmEnable, Key: key, Fields: fields{"enable": enable}})
			}
			if tt.left != nil {
				write(t, db, rows.Row{Table: tableWarm, Key: process, Fields: tt.left})
			}

			w := warmRestart{db: db}
			var states []string
			note := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				all, err := db.Read(t.Context(), tableWarm)
				if err != nil || len(all) != 1 || all[0].Key != process {
					t.Fatalf("%v, %v", all, err)
				}
				if count := all[0].Fields["restore_count"]; count != tt.count {
					t.Errorf("restore_count %s, want %s", count, tt.count)
				}
				if state := all[0].Fields["state"]; len(states) == 0 || states[len(states)-1] != state {
					states = append(states, state)
				}
			}
			note(w.begin(t.Context()))
			note(w.begin(t.Context())) // counts once
			for _, state := range warm {
				note(w.reached(t.Context(), state))
			}
			note(w.reached(t.Context(), warmRestored)) // it is further
			if diff := cmp.Diff(tt.states, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if err := w.forget(t.Context()); err != nil {
				t.Fatal(err)
			}
			if all, err := db.Read(t.Context(), tableWarm); err != nil || len(all) > 0 {
				t.Errorf("left: %v, %v", all, err)
			}
		})
	}
}

func write(t *testing.T, db *sonicdb.DB, r rows.Row) {
	t.Helper()
	if err := db.Write(t.Context(), set(r)); err != nil {
		t.Fatal(err)
	}
}
