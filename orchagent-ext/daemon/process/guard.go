// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/trust"
	"sluice/yang/rows"
)

// guardLibrary returns the guard of the library of the command line. It publishes a call that
// hangs in STATE_DB.
func guardLibrary(o *Options, databases *sonicdb.Databases, log *slog.Logger) (*trust.Guard, error) {
	stateDB, err := sonicdb.Open(databases, "STATE_DB", log)
	if err != nil {
		return nil, err
	}
	return trust.NewGuard(trust.GuardConfig{
		Library: libraryName(o), Files: strings.TrimSuffix(o.memory(), ".json"), Limit: o.CallLimit, Log: log,
		Publish: func(ctx context.Context, call string, since time.Time) error {
			const callField, sinceField = "sai_call", "sai_call_since"
			row := rows.Row{Table: telemetry.TableState, Key: "global"}
			if call == "" {
				return stateDB.Amend(ctx, row, callField, sinceField)
			}
			row.Fields = map[string]string{callField: call, sinceField: *telemetry.Stamp(since)}
			return stateDB.Amend(ctx, row)
		},
	})
}

// libraryName returns the path, size and time of the library's file with its profile: another
// file or profile has another name.
func libraryName(o *Options) string {
	name := o.Library
	if is, err := os.Stat(o.Library); err == nil {
		name = fmt.Sprintf("%s %d %d", name, is.Size(), is.ModTime().UnixNano())
	}
	for _, key := range slices.Sorted(maps.Keys(o.Profile)) {
		name += fmt.Sprintf(" %s=%s", key, o.Profile[key])
	}
	return name
}
