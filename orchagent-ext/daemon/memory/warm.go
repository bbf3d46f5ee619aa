// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"
	"strconv"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Rows of SONiC's about warm restarts (swss-common's WarmStart), in STATE_DB.
const (
	tableWarmEnable = "WARM_RESTART_ENABLE_TABLE" // system or a service: enable
	tableWarm       = "WARM_RESTART_TABLE"        // a process: state, restore_count
)

// Names of Sluice: the service is the container's and the feature's, too.
const (
	Service = "sluice"
	process = "sluiced"
)

// States of a warm start, in this order; SONiC waits for the last one.
const (
	warmInitialized = "initialized" // the process runs
	WarmRestored    = "restored"    // it adopted the objects on the switch
	WarmReplayed    = "replayed"    // it knows what is configured
	WarmReconciled  = "reconciled"  // the switch is as configured

	warmDisabled = "disabled" // no warm start
)

// WarmRestart reports the progress of a warm start to SONiC.
type WarmRestart struct {
	DB   *sonicdb.DB
	row  *rows.Row // as it was written last; nil before begin
	warm bool
}

// Begin looks whether this is a warm start: it is enabled for the system or the
// service, and an earlier process has left its count of restarts. After the first
// success it does nothing.
func (w *WarmRestart) Begin(ctx context.Context) error {
	if w.row != nil {
		return nil
	}
	all, err := w.DB.Read(ctx, tableWarmEnable, tableWarm)
	if err != nil {
		return err
	}
	enabled, count, counted := false, uint64(0), false
	for _, r := range all {
		switch {
		case r.Table == tableWarmEnable && (r.Key == "system" || r.Key == Service):
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

// Reached writes a state, where the start is a warm one and the state is new. States have
// an order and never go back. The error is that of STATE_DB.
func (w *WarmRestart) Reached(ctx context.Context, state string) error {
	order := []string{warmInitialized, WarmRestored, WarmReplayed, WarmReconciled}
	if !w.warm || slices.Index(order, state) <= slices.Index(order, w.row.Fields["state"]) {
		return nil
	}
	return w.write(ctx, rows.Row{Table: tableWarm, Key: process, Fields: map[string]string{
		"state": state, "restore_count": w.row.Fields["restore_count"],
	}})
}

// Forget removes the row of the service from STATE_DB.
func (w *WarmRestart) Forget(ctx context.Context) error {
	return w.DB.Write(ctx, sonicdb.Change{Row: rows.Row{Table: tableWarm, Key: process}, Deleted: true})
}

// write writes the row of the service and keeps it.
func (w *WarmRestart) write(ctx context.Context, r rows.Row) error {
	if err := w.DB.Write(ctx, sonicdb.Change{Row: r}); err != nil {
		return err
	}
	w.row = &r
	return nil
}
