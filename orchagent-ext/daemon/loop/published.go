// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"log/slog"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/desired"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

// published is the rows of sluiced in STATE_DB and COUNTERS_DB.
type published struct {
	stateDB, countersDB *sonicdb.DB
	state, counters     *sonicdb.Mirror // of these
	encoder             status.Encoder
	mirrored            bool  // the mirror of STATE_DB runs
	countErr            error // of the last reading of counters
}

// publishTo returns the rows of two databases, before the mirror of STATE_DB runs.
func publishTo(stateDB, countersDB *sonicdb.DB, log *slog.Logger) published {
	return published{
		stateDB: stateDB, countersDB: countersDB, encoder: status.Encoder{Log: log},
		state:    sonicdb.NewMirror(stateDB, telemetry.TableState, telemetry.TableCapability, telemetry.TableConfigError, telemetry.TableObject, telemetry.TableFlow, telemetry.TableHold, telemetry.TableHost, telemetry.TablePlacementFabric, telemetry.TablePlacementGroup, telemetry.TablePlacementMember, telemetry.TableNextHop, telemetry.TableHash),
		counters: sonicdb.NewMirror(countersDB, telemetry.TableStats, telemetry.TablePortStats, telemetry.TableQueueStats, telemetry.TableDepthStats, telemetry.TableTurnStats, telemetry.TableIPFIXStats, telemetry.TableNotify),
	}
}

// mirror runs the mirror of STATE_DB from now on. It deletes rows that were not set, so the ledger
// was read before.
func (p *published) mirror(writing context.Context, g task.Group) {
	if !p.mirrored {
		p.mirrored = true
		g.Go(func() error { return p.state.Run(writing) })
	}
}

// report sets the rows of a report. Before the mirror runs they are written at once, and these alone:
// the ledger stays whole.
func (p *published) report(ctx context.Context, r *status.Report) {
	for row := range r.Encode(&p.encoder) {
		p.state.Set(row)
		if !p.mirrored {
			_ = p.stateDB.Write(ctx, sonicdb.Change{Row: row}) // the next report is written soon
		}
	}
}

// setState sets a row of STATE_DB.
func (p *published) setState(row ygot.GoStruct) {
	for r := range p.encoder.Encode(row) {
		p.state.Set(r)
	}
}

// change brings a table of STATE_DB up to date.
func (p *published) change(table string, c desired.Changes) {
	if c.Whole {
		p.replaceState(table, c.Set)
		return
	}
	for _, row := range c.Set {
		p.setState(row)
	}
	for _, key := range c.Gone {
		p.state.Delete(table, key)
	}
}

// replaceState replaces the rows of a table of STATE_DB.
func (p *published) replaceState(table string, all []ygot.GoStruct) {
	p.state.Replace(table, p.encoder.Encode(all...))
}

// setCounters sets a row of COUNTERS_DB.
func (p *published) setCounters(row ygot.GoStruct) {
	for r := range p.encoder.Encode(row) {
		p.counters.Set(r)
	}
}

// replaceCounters replaces the rows of a table of COUNTERS_DB.
func (p *published) replaceCounters(table string, all []ygot.GoStruct) {
	p.counters.Replace(table, p.encoder.Encode(all...))
}

// counted notes the error of a reading of counters, and logs the first of a series.
func (p *published) counted(err error, log *slog.Logger) {
	if err != nil && p.countErr == nil {
		log.Warn("cannot read counters", "error", err)
	}
	p.countErr = err
}

// leave removes the rows that hold only while a process runs: another one is to come.
func (p *published) leave(ctx context.Context) error {
	p.state.Delete(telemetry.TableState, "global")
	p.state.Empty(telemetry.TableHold) // held packets go on
	p.state.Empty(telemetry.TableNextHop)
	p.state.Empty(telemetry.TableHash)
	if p.mirrored {
		return p.state.Flush(ctx)
	}
	return p.stateDB.Write(ctx, sonicdb.Change{Row: rows.Row{Table: telemetry.TableState, Key: "global"}, Deleted: true})
}

// clear removes all rows.
func (p *published) clear(ctx context.Context) error {
	p.state.Clear()
	p.counters.Clear()
	return errors.Join(p.state.Flush(ctx), p.counters.Flush(ctx))
}

// deleteTables deletes the rows of Sluice's models from both databases, of whichever process.
func (p *published) deleteTables(ctx context.Context) error {
	var errs []error
	for _, db := range []*sonicdb.DB{p.stateDB, p.countersDB} {
		all, err := db.Read(ctx, rows.Tables(db.Name)...)
		var gone []sonicdb.Change
		for _, r := range all {
			gone = append(gone, sonicdb.Change{Row: r, Deleted: true})
		}
		if err == nil {
			err = db.Write(ctx, gone...)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
