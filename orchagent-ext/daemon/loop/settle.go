// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"time"

	"sluice/orchagent-ext/db/telemetry"
)

// SONiC sets this key of CONFIG_DB to 1 when it has loaded the database, and to 0
// before. A machine with Redis alone lacks it.
const (
	initialized = "CONFIG_DB_INITIALIZED"
	notLoaded   = "0"
	loaded      = "1"
)

var errLoading = errors.New("CONFIG_DB is being loaded (" + initialized + " is 0): nothing is changed until it is")

// remember reads which rows an earlier process held in force: from the state file,
// and those of which CONFIG_DB had other versions from STATE_DB.
func (o *orch) remember(ctx context.Context) {
	known, err := o.inForce.Read()
	if err != nil {
		o.Log.Warn("rows that were in force before cannot be read", "error", err)
	}
	o.state.Remember(known)
	errs, err := o.stateDB.Read(ctx, telemetry.TableConfigError)
	if err != nil {
		o.Log.Warn("last good rows of an earlier process cannot be read", "error", err)
	}
	o.state.Remember(telemetry.LastGood(errs))
	if len(known) == 0 {
		objects, err := o.stateDB.Read(ctx, telemetry.TableObject)
		o.unknown = err != nil || len(objects) > 0
	}
}

// due returns when to act on a change. While rows may be missing objects stay: SONiC writes
// table after table.
func (o *orch) due(ctx context.Context) time.Duration {
	if !o.settling || !o.unknown && o.state.Complete() {
		return 0
	}
	if o.starting && o.loadedIs(ctx, loaded) {
		return 0
	}
	return settle
}

// loading reports whether SONiC is loading CONFIG_DB, and rows are missing.
func (o *orch) loading(ctx context.Context) bool {
	return o.settling && !o.state.Complete() && o.loadedIs(ctx, notLoaded)
}

func (o *orch) loadedIs(ctx context.Context, want string) bool {
	value, err := o.configDB.Text(ctx, initialized)
	return err == nil && value == want
}

// settled notes that CONFIG_DB is complete.
func (o *orch) settled() {
	o.settling, o.starting, o.unknown = false, false, false
	o.state.Forget()
}
