// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"sluice/orchagent-ext/cli/targets"
	"sluice/orchagent-ext/cli/top"
	"sluice/yang/rows"
)

// reading is the result of one reading of the databases.
type reading struct {
	snapshot *top.Snapshot
	at       time.Time
	err      error
	many     []targets.Reading // of several switches; the rest is empty but for at
}

// consistent is how often the tables are read again because sluiced wrote
// meanwhile: the flows of one second and the clock of the next give wrong rates.
const consistent = 3

// read looks at the databases.
func (t *watcher) read(ctx context.Context) reading {
	if t.many != nil {
		return t.readMany(ctx)
	}
	var r reading
	for range consistent {
		var all []rows.Row
		if all, r.err = t.rows(ctx); r.err != nil {
			break
		}
		r.at = t.now()
		r.snapshot = top.Parse(all, r.at)
		again, err := t.databases.read(ctx, "COUNTERS_DB", top.CountersTables...)
		if r.err = err; err != nil || !top.Parse(again, r.at).At.After(r.snapshot.At) {
			break
		}
	}
	if r.at.IsZero() {
		r.at = t.now()
	}
	return r
}

// rows reads the tables of a snapshot, one after the other. A write of sluiced in between
// is found by read, which compares the times of the counters.
func (t *watcher) rows(ctx context.Context) ([]rows.Row, error) {
	var all []rows.Row
	for _, from := range []struct {
		database string
		tables   []string
	}{{"COUNTERS_DB", top.CountersTables}, {"STATE_DB", top.StateTables}, {"CONFIG_DB", top.ConfigTables}} {
		some, err := t.databases.read(ctx, from.database, from.tables...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// add takes a reading into the history.
func (t *watcher) add(r reading) {
	switch {
	case t.many != nil:
		t.many.add(r.many)
	case r.err == nil:
		t.history.Add(r.snapshot)
		t.unread = ""
	case t.unread == "":
		t.unreadSince = r.at
		fallthrough
	default:
		t.unread = r.err.Error()
	}
}
