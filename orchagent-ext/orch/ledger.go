// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
	"sluice/yang/rows"
)

// ledger is the engine's memory in STATE_DB's SLUICE_ASIC_OBJECT. Where Redis is
// down the mirror keeps what is to be written until it is back.
type ledger struct {
	ctx     context.Context
	mirror  *sonicdb.Mirror
	copy    *ledgerCopy
	records []*asic.Record // that were there at first
}

// leftRows is what an earlier process left in STATE_DB.
type leftRows struct {
	records []*asic.Record // of the ledger
	flows   []rows.Row
	bad     []badRow // of the ledger
}

// badRow is a row of the ledger that is no record.
type badRow struct {
	row rows.Row
	why error
}

// readLeft reads what an earlier process left. Rows of the ledger that are no records are
// deleted by the mirror. Where Redis was emptied the copy has the ledger.
func readLeft(ctx context.Context, mirror *sonicdb.Mirror, c *ledgerCopy) (*leftRows, error) {
	all, err := mirror.Adopt(ctx, telemetry.TableObject)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if all, err = c.read(); err != nil {
			c.log.Warn("the copy of the ledger cannot be used: what it names is created again", "error", err)
			all = nil
		}
		for _, row := range all {
			mirror.Set(row)
		}
	}
	left := &leftRows{records: make([]*asic.Record, 0, len(all)), flows: mirror.Written(telemetry.TableFlow)}
	for _, row := range all {
		r, err := asic.ParseRecord(asic.ID(row.Key), row.Fields)
		if err != nil {
			mirror.Delete(row.Table, row.Key)
			left.bad = append(left.bad, badRow{row, err})
			continue
		}
		left.records = append(left.records, r)
	}
	return left, nil
}

// readAhead begins to read what an earlier process left: it takes a while, and CONFIG_DB
// is read meanwhile.
func (o *orch) readAhead(ctx context.Context, g tasks) {
	ahead := make(chan *leftRows, 1)
	o.ahead = ahead
	g.Go(func() error {
		defer close(ahead)
		if left, err := readLeft(ctx, o.rows, o.copy); err == nil { // else it is read again when it is needed
			ahead <- left
		}
		return nil
	})
}

// left returns what an earlier process left.
func (o *orch) left(ctx context.Context) (*leftRows, error) {
	if ahead := o.ahead; ahead != nil {
		o.ahead = nil
		if left := <-ahead; left != nil {
			return left, nil
		}
	}
	return readLeft(ctx, o.rows, o.copy)
}

// Load returns the records that were there at first.
func (l *ledger) Load() ([]*asic.Record, error) { return l.records, nil }

func (l *ledger) Save(records []*asic.Record, gone []asic.ID) error {
	changes := make([]rows.Row, 0, len(gone)+len(records))
	for _, id := range gone {
		l.mirror.Delete(telemetry.TableObject, string(id))
		changes = append(changes, rows.Row{Table: telemetry.TableObject, Key: string(id)})
	}
	for _, r := range records {
		row := rows.Row{Table: telemetry.TableObject, Key: string(r.ID), Fields: r.Fields()}
		l.mirror.Set(row)
		changes = append(changes, row)
	}
	l.copy.save(changes, func() []rows.Row { return l.mirror.Wanted(telemetry.TableObject) })
	// The mirror tries again what Redis does not take now.
	_ = l.mirror.Flush(l.ctx)
	return nil
}
