// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// TestRowOfABusyWriterIsNoError: SONiC's writers change a row by two commands. Between them it may be one that
// is refused: nothing says so, and nothing changes, unless it stays.
func TestRowOfABusyWriterIsNoError(t *testing.T) {
	refused := rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled", "algorithm": "bad"}}
	disabled := rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "disabled"}}
	unknown := rows.Row{Table: "SLUICE_OTHER", Key: "1", Fields: map[string]string{}}
	edge := func(r rows.Row) sonicdb.Batch {
		return sonicdb.Batch{Edge: true, Changes: []sonicdb.Change{{Row: r}}}
	}
	for name, tt := range map[string]struct {
		then   func(*emptied)
		logged string // tables of rejected rows
		labels bool
	}{
		"nothing follows": {func(e *emptied) {}, "SLUICE_FLOW_LABEL", true},
		"the rest of the row follows": {func(e *emptied) {
			e.apply(false, disabled)
		}, "", false},
		"it follows, after another row": {func(e *emptied) {
			e.Apply(e.t.Context(), edge(port0))
			e.apply(false, disabled)
		}, "SLUICE_FLOW_LABEL", false},
		"another refused row follows": {func(e *emptied) {
			if due := e.Apply(e.t.Context(), edge(unknown)); due != 0 {
				e.t.Errorf("a second row waits for %v", due)
			}
		}, "SLUICE_FLOW_LABEL SLUICE_OTHER", true},
		"SONiC empties CONFIG_DB": {func(e *emptied) {
			e.initialized("")
			e.apply(true, labelsOn)
		}, "", true},
		"SONiC loads CONFIG_DB, with a refused row": {func(e *emptied) {
			e.initialized("")
			e.apply(true, labelsOn)
			e.apply(false, unknown)
			e.initialized(loaded)
		}, "SLUICE_OTHER", false},
		"ports go, and a refused row comes": {func(e *emptied) {
			e.Apply(e.t.Context(), sonicdb.Batch{Changes: []sonicdb.Change{{Row: port0, Deleted: true}, {Row: unknown}}})
			e.apply(false, port0)
		}, "SLUICE_FLOW_LABEL SLUICE_OTHER", true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmptied(t)
			var log bytes.Buffer
			e.log = slog.New(slog.NewTextHandler(&log, nil))
			if due := e.Apply(t.Context(), edge(refused)); due != edgeTime {
				t.Errorf("acts in %v, want %v", due, edgeTime)
			}
			if log.Len() > 0 || e.Rejected() > 0 || e.snapshot.FlowLabel.AdminState != config.Enabled {
				t.Errorf("said at once: %d rows rejected, %s", e.Rejected(), &log)
			}
			tt.then(e)
			if labels := e.labels(); labels != tt.labels {
				t.Errorf("flow labels are in force: %v, want %v", labels, tt.labels)
			}
			e.labels()
			var logged []string
			for line := range strings.Lines(log.String()) {
				if _, row, rejected := strings.Cut(line, `"row rejected" error="`); rejected {
					table, _, _ := strings.Cut(row, "|")
					logged = append(logged, table)
				}
			}
			if got := strings.Join(logged, " "); got != tt.logged {
				t.Errorf("logged %q, want %q:\n%s", got, tt.logged, &log)
			}
		})
	}
}

// TestRowOfABusyWriterCountsAtTheStart: no row waits for its writer before the configuration is complete.
func TestRowOfABusyWriterCountsAtTheStart(t *testing.T) {
	e := newEmptied(t)
	e.phase = Settling
	bad := rows.Row{Table: "SLUICE_OTHER", Key: "1", Fields: map[string]string{}}
	if due := e.Apply(t.Context(), sonicdb.Batch{Edge: true, Changes: []sonicdb.Change{{Row: bad}}}); due != 0 || e.Rejected() != 1 {
		t.Errorf("acts in %v on %d rejected rows", due, e.Rejected())
	}
}
