// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"log/slog"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

// signOfLife writes the time into STATE_DB once a second, beside the loop, which may wait
// for a call of the SAI library. It ends with ctx, before the loop deletes the row.
func signOfLife(ctx context.Context, databases *sonicdb.Databases, now func() time.Time, log *slog.Logger) error {
	db, err := sonicdb.Open(databases, "STATE_DB", log)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		row := rows.Row{Table: telemetry.TableState, Key: "global", Fields: map[string]string{"alive": *telemetry.Stamp(now())}}
		_ = db.Amend(ctx, row) // while Redis is away the loop reports it
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
