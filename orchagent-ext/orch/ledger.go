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
	records []*asic.Record // that were there at first
}

// readLedger reads the records of an earlier process. A row that is not a record is set aside,
// of which aside is told: the mirror deletes it.
func readLedger(ctx context.Context, mirror *sonicdb.Mirror, aside func(rows.Row, error)) ([]*asic.Record, error) {
	all, err := mirror.Adopt(ctx, telemetry.TableObject)
	if err != nil {
		return nil, err
	}
	records := make([]*asic.Record, 0, len(all))
	for _, row := range all {
		r, err := asic.ParseRecord(asic.ID(row.Key), row.Fields)
		if err != nil {
			mirror.Delete(row.Table, row.Key)
			aside(row, err)
			continue
		}
		records = append(records, r)
	}
	return records, nil
}

// Load returns the records that were there at first.
func (l *ledger) Load() ([]*asic.Record, error) { return l.records, nil }

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
