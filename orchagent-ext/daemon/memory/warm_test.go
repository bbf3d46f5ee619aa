// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"

	"sluice/tests/redistest"

	"github.com/google/go-cmp/cmp"

	"sluice/yang/rows"
)

// The row of a process as swss-common's WarmStart writes it.
func TestWarmRestart(t *testing.T) {
	type fields = map[string]string
	warm := []string{warmInitialized, WarmRestored, WarmReplayed, WarmReconciled}
	for name, tt := range map[string]struct {
		enable fields            // by key
		left   map[string]string // the row of an earlier process
		count  string
		states []string // by turns
	}{
		"no warm restart":      {nil, fields{"restore_count": "3", "state": WarmReconciled}, "0", []string{warmDisabled}},
		"switched off":         {fields{"system": "false", "sluice": "false"}, fields{"restore_count": "3"}, "0", []string{warmDisabled}},
		"of another service":   {fields{"swss": "true"}, fields{"restore_count": "3"}, "0", []string{warmDisabled}},
		"of the system":        {fields{"system": "true"}, fields{"restore_count": "0"}, "1", warm},
		"of the service":       {fields{"system": "false", "sluice": "true"}, fields{"restore_count": "3", "state": WarmReconciled}, "4", warm},
		"nothing to restore":   {fields{"system": "true"}, nil, "0", []string{warmDisabled}},
		"a count that is none": {fields{"system": "true"}, fields{"restore_count": "x"}, "0", []string{warmDisabled}},
	} {
		t.Run(name, func(t *testing.T) {
			db := redistest.Open(t, redistest.Databases(t), "STATE_DB")
			for key, enable := range tt.enable {
				redistest.Write(t, db, rows.Row{Table: tableWarmEnable, Key: key, Fields: fields{"enable": enable}})
			}
			if tt.left != nil {
				redistest.Write(t, db, rows.Row{Table: tableWarm, Key: process, Fields: tt.left})
			}

			w := WarmRestart{DB: db}
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
			note(w.Begin(t.Context()))
			note(w.Begin(t.Context())) // counts once
			for _, state := range warm {
				note(w.Reached(t.Context(), state))
			}
			note(w.Reached(t.Context(), WarmRestored)) // it is further
			if diff := cmp.Diff(tt.states, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if err := w.Forget(t.Context()); err != nil {
				t.Fatal(err)
			}
			if all, err := db.Read(t.Context(), tableWarm); err != nil || len(all) > 0 {
				t.Errorf("left: %v, %v", all, err)
			}
		})
	}
}
