// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"log/slog"

	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Ledger is the table SLUICE_ASIC_OBJECT of STATE_DB: the objects on the switch that Sluice
// created. While labels are chosen it has a copy in a file. It is for one goroutine.
type Ledger struct {
	rows    *sonicdb.Mirror // of STATE_DB
	copy    *ledgerCopy
	kept    func() // returns once the rows in force are in their file
	log     *slog.Logger
	ahead   <-chan *Left // what is read ahead; nil: it is read when it is needed
	unknown string       // warning of rows that sluiced did not write; "": there were none
}

// NewLedger returns the ledger in a mirror of STATE_DB. rowsFile is the path of the file
// of the rows in force, beside which the copy lies ("" turns the copy off); database is
// the name of the database. kept returns once the rows in force, of which the objects are, are in their file:
// Redis gets the objects after that.
func NewLedger(mirror *sonicdb.Mirror, rowsFile, database string, kept func(), log *slog.Logger) *Ledger {
	return &Ledger{rows: mirror, copy: newLedgerCopy(rowsFile, database, log), kept: kept, log: log}
}

// Left has the rows of an earlier process in STATE_DB.
type Left struct {
	Records []*engine.Record // of the ledger
	Flows   []rows.Row       // of SLUICE_FLOW
	unknown []unknownRow
}

// unknownRow is a row of the ledger that cannot be parsed as a record.
type unknownRow struct {
	row rows.Row
	why error
}

// read reads the rows of an earlier process. The mirror deletes rows of the ledger that
// cannot be parsed. Where Redis was emptied the copy has the ledger.
func (l *Ledger) read(ctx context.Context) (*Left, error) {
	all, err := l.rows.Adopt(ctx, telemetry.TableObject)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if all, err = l.copy.read(); err != nil {
			l.log.Warn("cannot use the copy of the ledger: its objects are created again", "error", err)
			all = nil
		}
		for _, row := range all {
			l.rows.Set(row)
		}
	}
	left := &Left{Records: make([]*engine.Record, 0, len(all)), Flows: l.rows.Written(telemetry.TableFlow)}
	for _, row := range all {
		r, err := engine.ParseRecord(engine.ID(row.Key), row.Fields)
		if err != nil {
			l.rows.Delete(row.Table, row.Key)
			left.unknown = append(left.unknown, unknownRow{row, err})
			continue
		}
		left.Records = append(left.Records, r)
	}
	return left, nil
}

// ReadAhead begins to read the rows of an earlier process: it takes a while, and
// CONFIG_DB is read meanwhile.
func (l *Ledger) ReadAhead(ctx context.Context, g task.Group) {
	ahead := make(chan *Left, 1)
	l.ahead = ahead
	g.Go(func() error {
		defer close(ahead)
		if left, err := l.read(ctx); err == nil { // after an error Left reads again
			ahead <- left
		}
		return nil
	})
}

// Left returns the rows of an earlier process. Rows that cannot be parsed are logged: the
// driver looks for their objects among the unrecorded ones.
func (l *Ledger) Left(ctx context.Context) (left *Left, err error) {
	if ahead := l.ahead; ahead != nil {
		l.ahead, left = nil, <-ahead
	}
	if left == nil {
		if left, err = l.read(ctx); err != nil {
			return nil, err
		}
	}
	for _, u := range left.unknown {
		l.log.Warn("ledger row ignored: sluiced did not write it", "key", fmt.Sprintf("%.100q", u.row.Key), "fields", fmt.Sprintf("%.1000q", fmt.Sprint(u.row.Fields)), "error", fmt.Sprintf("%.200s", u.why))
		l.unknown = fmt.Sprintf("ignored a row of SLUICE_ASIC_OBJECT that sluiced did not write (%.100q): its object may be left on the switch", u.row.Key)
	}
	return left, nil
}

// Of returns the ledger for an engine that begins with some of the records. Writes end with
// ctx.
func (l *Ledger) Of(ctx context.Context, records []*engine.Record) engine.Ledger {
	return &engineLedger{ctx, l, records}
}

// Rows returns the rows that the ledger is to have. They may be ahead of Redis, which
// gets them by the mirror.
func (l *Ledger) Rows() []rows.Row { return l.rows.Wanted(telemetry.TableObject) }

// BeginCopy copies the ledger to its file from now on: labels that were chosen outlive a
// Redis that is emptied.
func (l *Ledger) BeginCopy() { l.copy.begin(l.Rows) }

// EndCopy ends the copy and removes its file; a file that is missing is a success.
func (l *Ledger) EndCopy() { l.copy.drop() }

// Close ends the copy, and leaves its file to the next process.
func (l *Ledger) Close() { l.copy.close() }

// Warnings returns the warnings to the operator: of the copy, and of rows that sluiced
// did not write. An element of "" is for the caller to leave out.
func (l *Ledger) Warnings() []string { return []string{l.copy.warning(), l.unknown} }

// engineLedger is the ledger as an engine uses it. While Redis is down the mirror keeps
// the changes, and writes them later.
type engineLedger struct {
	ctx     context.Context
	ledger  *Ledger
	records []*engine.Record // to begin with
}

// Load implements [engine.Ledger].
func (e *engineLedger) Load() ([]*engine.Record, error) { return e.records, nil }

// Save implements [engine.Ledger]. Its error is always nil: the copy in the file and the
// mirror outlast a Redis that is down.
func (e *engineLedger) Save(records []*engine.Record, gone []engine.ID) error {
	l := e.ledger
	l.kept()
	changes := make([]rows.Row, 0, len(gone)+len(records))
	for _, id := range gone {
		l.rows.Delete(telemetry.TableObject, string(id))
		changes = append(changes, rows.Row{Table: telemetry.TableObject, Key: string(id)})
	}
	for _, r := range records {
		row := rows.Row{Table: telemetry.TableObject, Key: string(r.ID), Fields: r.Fields()}
		l.rows.Set(row)
		changes = append(changes, row)
	}
	l.copy.save(changes, l.Rows)
	_ = l.rows.Flush(e.ctx) // the mirror repeats writes that Redis refuses now
	return nil
}
