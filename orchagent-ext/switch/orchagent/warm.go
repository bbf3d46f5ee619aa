// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Rows of STATE_DB about warm restarts of orchagent (swss-common, warm_restart.cpp).
const (
	tableWarm       = "WARM_RESTART_TABLE"
	tableWarmEnable = "WARM_RESTART_ENABLE_TABLE"
	keyOrchagent    = "orchagent"
)

// longestRestore is how long orchagent may restore its state.
const longestRestore = 5 * time.Minute

// errRestoring: orchagent restores its state. A row that is written meanwhile is taken as a change
// of one that it has, and so is removed and created again.
var errRestoring = errors.New("orchagent restores its state after a warm restart: no row is written until it has")

// restoration decides whether orchagent restores its state. The zero value has seen nothing.
type restoration struct {
	seen  bool
	last  warmRow   // at the last look
	since time.Time // that it restores; zero: it does not
}

// warmRow is what STATE_DB has of a restart.
type warmRow struct {
	enabled  bool   // for swss or the system
	state    string // of orchagent
	number   string // of its restarts
	answered bool   // it has taken ACL tables: it cleared their statuses when it began
}

// restores takes a look, and reports whether to wait. A row of an earlier restart does not count: one
// that is there at the first look beside statuses of ACL tables, or that stays for [longestRestore].
func (r *restoration) restores(w warmRow, now time.Time) bool {
	restoring := w.enabled && (w.state == "initialized" || w.state == "restored")
	first, before := !r.seen, r.last
	r.seen, r.last = true, w
	begun := before.number != w.number || before.state != w.state && r.since.IsZero()
	switch {
	case !restoring || first && w.answered:
		r.since = time.Time{}
		return false
	case first || begun || !before.enabled:
		r.since = now
	}
	return !r.since.IsZero() && now.Sub(r.since) < longestRestore
}

// warm looks whether orchagent restores its state.
type warm struct {
	state *sonicdb.DB
	restoration
}

// look is restores by the rows of STATE_DB.
func (w *warm) look(now time.Time) (bool, error) {
	found, err := get(w.state,
		rows.Row{Table: tableWarmEnable, Key: "swss"}, rows.Row{Table: tableWarmEnable, Key: "system"}, rows.Row{Table: tableWarm, Key: keyOrchagent},
		rows.Row{Table: statusTables[tableACL], Key: nameTable4}, rows.Row{Table: statusTables[tableACL], Key: nameTable6}, rows.Row{Table: statusTables[tableACL], Key: nameACL})
	if err != nil {
		return false, err
	}
	return w.restores(warmRow{
		enabled: found[0]["enable"] == "true" || found[1]["enable"] == "true",
		state:   found[2]["state"], number: found[2]["restore_count"],
		answered: found[3] != nil || found[4] != nil || found[5] != nil,
	}, now), nil
}

// wait returns [errRestoring] while orchagent restores its state.
func (w *warm) wait(now time.Time) error {
	if is, err := w.look(now); err != nil || !is {
		return err
	}
	return errRestoring
}
