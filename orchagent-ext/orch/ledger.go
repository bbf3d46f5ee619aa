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
	ctx    context.Context
	db     *sonicdb.DB
	mirror *sonicdb.Mirror
	mine   func(*asic.Record) bool // of the records; nil: all
	aside  func(rows.Row, error)   // called with rows that are not records; may be nil
}

// Load reads the records. A row that is none is set aside: the mirror deletes it.
func (l *ledger) Load() ([]*asic.Record, error) {
	all, err := l.db.Read(l.ctx, telemetry.TableObject)
	if err != nil {
		return nil, err
	}
	var records []*asic.Record
	for _, row := range all {
		r, err := asic.ParseRecord(asic.ID(row.Key), row.Fields)
		if err != nil {
			if l.aside != nil {
				l.aside(row, err)
			}
			continue
		}
		l.mirror.Set(row)
		if l.mine == nil || l.mine(r) {
			records = append(records, r)
		}
	}
	return records, nil
}

func (l *ledger) Save(records []*asic.Record, gone []asic.ID) error {
	for _, id := range gone {
		l.mirror.Delete(telemetry.TableObject, string(id))
	}
	for _, r := range records {
		l.mirror.Set(rows.Row{Table: telemetry.TableObject, Key: string(r.ID), Fields: r.Fields()})
	}
	// The mirror tries again what Redis does not take now.
	_ = l.mirror.Flush(l.ctx)
	return nil
}
