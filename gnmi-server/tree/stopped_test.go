// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
)

// TestStateOfAStoppedDaemonIsNotRunning: a clean stop takes the row of the state away. Get answers
// with the one leaf that is left, streams get it, and go on when the next daemon starts.
// Counters have no such leaf, and SonicDB's style has what the database has.
func TestStateOfAStoppedDaemonIsNotRunning(t *testing.T) {
	const state = "/sonic-sluice-state/SLUICE_STATE/global"
	q := query(t, "", state)
	if diff := cmp.Diff(texts{"state": "not-running"}, named(Snapshot{}.Leaves(q))); diff != "" {
		t.Errorf("Get without a row (-want +got):\n%s", diff)
	}
	running := texts{"state": "running", "version": "1"}
	if diff := cmp.Diff(running, named(Snapshot{paths.Lookup("SLUICE_STATE"): {"global": running}}.Leaves(q))); diff != "" {
		t.Errorf("Get with a row (-want +got):\n%s", diff)
	}
	for origin, text := range map[string]string{"": "/sonic-sluice-state/SLUICE_STATS", "sonic-db": "/STATE_DB/localhost/SLUICE_STATE"} {
		if got := (Snapshot{}).Leaves(query(t, origin, text)); len(got) > 0 {
			t.Errorf("%s: %v", text, named(got))
		}
	}
	l, changes := NewLive(), &heard{}
	l.Subscribe(changes, q)
	for i, step := range []struct {
		batch sonicdb.Batch
		want  []string
	}{
		{sonicdb.Batch{Initial: true}, []string{state + "/state not-running"}},
		{sonicdb.Batch{Changes: []sonicdb.Change{row("SLUICE_STATE", "global", running)}}, []string{state + "/state running", state + "/version 1"}},
		{sonicdb.Batch{Changes: []sonicdb.Change{gone("SLUICE_STATE", "global")}}, []string{state + "/state not-running", state + "/version gone"}},
		{sonicdb.Batch{Changes: []sonicdb.Change{row("SLUICE_STATE", "global", running)}}, []string{state + "/state running", state + "/version 1"}},
	} {
		changes.changes = nil
		l.Apply("STATE_DB", step.batch)
		slices.Sort(changes.changes)
		if diff := cmp.Diff(step.want, changes.changes); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}
