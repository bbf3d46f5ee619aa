// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"sluice/yang/rows"
)

// rowSource is where rows of tables are read: the databases here, or another switch.
type rowSource interface {
	read(ctx context.Context, database string, tables ...string) ([]rows.Row, error)
}

// remote is a switch that is asked by gNMI.
type remote struct {
	*fleet
	skew atomic.Int64 // how far its clock was ahead at its last answer, ns
}

// read returns the rows of tables of a database.
func (r *remote) read(ctx context.Context, database string, tables ...string) ([]rows.Row, error) {
	a := r.Read(ctx, map[string][]string{database: tables})[0]
	if a.Err != nil {
		return nil, &unanswered{a.Target, a.Err}
	}
	if !a.At.IsZero() {
		r.skew.Store(int64(a.Skew))
	}
	return a.Rows, nil
}

// connect sets what is watched: the switch of --target, or this machine. done closes the
// connections to it.
func (t *watcher) connect(cmd *cobra.Command, dbs *databaseFlags, switches *targetFlags) (done func(), err error) {
	if switches.used(cmd.Flags()) {
		f, err := switches.open(cmd)
		if err != nil {
			return nil, err
		}
		if len(f.Targets()) > 1 {
			t.many = newManySwitches(f)
			return f.Close, t.checkMany(cmd.Flags())
		}
		r := &remote{fleet: f}
		t.databases, t.host = r, f.Targets()[0].Name
		t.skew = func() time.Duration { return time.Duration(r.skew.Load()) }
		return f.Close, nil
	}
	if t.host, err = os.Hostname(); err != nil {
		return nil, err
	}
	opened, err := dbs.open("CONFIG_DB", "STATE_DB", "COUNTERS_DB")
	t.databases = opened
	return func() { _ = opened.close() }, err
}

// now is the time by the clock of the switch, which wrote the times in the rows.
func (t *watcher) now() time.Time {
	if t.skew == nil {
		return time.Now()
	}
	return time.Now().Add(t.skew())
}
