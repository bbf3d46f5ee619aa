// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"slices"
	"strconv"

	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/rows"
)

// Rows of SONiC's about warm restarts (swss-common's WarmStart), in STATE_DB.
const (
	tableWarmEnable = "WARM_RESTART_ENABLE_TABLE" // system or a service: enable
	tableWarm       = "WARM_RESTART_TABLE"        // a process: state, restore_count
)

// Names of Sluice: the service is the container's and the feature's, too.
const (
	service = "sluice"
	process = "sluiced"
)

// States of a warm start, in this order; SONiC waits for the last one.
const (
	warmInitialized = "initialized" // the process runs
	warmRestored    = "restored"    // it adopted the objects on the switch
	warmReplayed    = "replayed"    // it knows what is configured
	warmReconciled  = "reconciled"  // the switch is as configured

	warmDisabled = "disabled" // no warm start
)

// warmRestart tells SONiC how far a warm start has come.
type warmRestart struct {
	db   *sonicdb.DB
	row  *rows.Row // as it was written last; nil before begin
	warm bool
}

// begin looks whether this is a warm start: it is enabled for the system or the
// service, and an earlier process has left its count of restarts. After the first
// success it does nothing.
func (w *warmRestart) begin(ctx context.Context) error {
	if w.row != nil {
		return nil
	}
	all, err := w.db.Read(ctx, tableWarmEnable, tableWarm)
	if err != nil {
		return err
	}
	enabled, count, counted := false, uint64(0), false
	for _, r := range all {
		switch {
		case r.Table == tableWarmEnable && (r.Key == "system" || r.Key == service):
			enabled = enabled || r.Fields["enable"] == "true"
		case r.Table == tableWarm && r.Key == process:
			count, err = strconv.ParseUint(r.Fields["restore_count"], 10, 32)
			counted = err == nil
		}
	}
	state := warmDisabled
	if warm := enabled && counted; warm {
		w.warm, state, count = true, warmInitialized, count+1
	} else {
		count = 0
	}
	return w.write(ctx, rows.Row{Table: tableWarm, Key: process, Fields: map[string]string{
		"state": state, "restore_count": strconv.FormatUint(count, 10),
	}})
}

// reached writes a state, where the start is a warm one and was not as far yet.
func (w *warmRestart) reached(ctx context.Context, state string) error {
	order := []string{warmInitialized, warmRestored, warmReplayed, warmReconciled}
	if !w.warm || slices.Index(order, state) <= slices.Index(order, w.row.Fields["state"]) {
		return nil
	}
	return w.write(ctx, rows.Row{Table: tableWarm, Key: process, Fields: map[string]string{
		"state": state, "restore_count": w.row.Fields["restore_count"],
	}})
}

// forget removes the row.
func (w *warmRestart) forget(ctx context.Context) error {
	return w.db.Write(ctx, sonicdb.Change{Row: rows.Row{Table: tableWarm, Key: process}, Deleted: true})
}

func (w *warmRestart) write(ctx context.Context, r rows.Row) error {
	if err := w.db.Write(ctx, set(r)); err != nil {
		return err
	}
	w.row = &r
	return nil
}
