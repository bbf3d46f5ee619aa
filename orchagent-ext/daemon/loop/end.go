// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/orchagent-ext/daemon/memory"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/engine"
)

// featureTime bounds the reading of the state of the feature.
const featureTime = 2 * time.Second

// end leaves the switch as it is where another process is to come, and removes all of Sluice's
// objects otherwise.
func (o *orch) end(writing context.Context) error {
	var errs []error
	if o.sw != nil {
		o.stopParts()
	}
	o.path.Stop()
	if o.restarts(writing) {
		errs = append(errs, o.out.leave(writing))
	} else {
		errs = append(errs, o.removeObjects(writing))
	}
	errs = append(errs, o.closeSwitch())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// restarts reports whether another process is to come after this one. It is false where the
// feature was disabled, which SONiC writes before it stops the container, and where objects
// are to end with the process.
func (o *orch) restarts(ctx context.Context) bool {
	if o.settings() != nil && !o.settings().Outlives {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, featureTime)
	defer stop()
	// as they are now: the loop may not have heard yet
	all, err := o.configDB.Read(ctx, "FEATURE", "SLUICE")
	if err != nil {
		o.conf.Log.Warn("objects stay on the switch: cannot read whether the feature is disabled", "error", err)
		return true
	}
	for _, r := range all {
		// or always_disabled
		if r.Table == "FEATURE" && r.Key == memory.Service && strings.HasSuffix(r.Fields["state"], "disabled") ||
			r.Table == "SLUICE" && r.Fields["warm_restart"] == "disabled" {
			return false
		}
	}
	return true
}

// removeObjects removes all of Sluice's objects from the switch, and then its rows from
// STATE_DB and COUNTERS_DB. While an object may be on the switch its rows stay.
func (o *orch) removeObjects(ctx context.Context) error {
	if o.sw == nil {
		left, err := o.out.stateDB.Read(ctx, telemetry.TableObject)
		if err != nil {
			return err
		}
		if len(left) > 0 { // of an earlier process; this one has not come that far
			if err := o.openAsConfigured(ctx); err != nil {
				return fmt.Errorf("%d objects of Sluice stay on the switch; sluiced --remove removes them later: %w", len(left), err)
			}
		}
	}
	if o.sw != nil {
		outcome, err := o.sw.engine.Reconcile(engine.Policy{})
		if err != nil {
			return err
		}
		o.conf.Log.Info("objects removed from the switch", "removed", outcome.Removed, "handed_over", outcome.HandedOver)
	}
	o.ledger.EndCopy()
	return errors.Join(o.out.clear(ctx), o.warm.Forget(ctx))
}

// Remove removes all of Sluice's objects from the switch, and the rows of its models
// from STATE_DB and COUNTERS_DB, of whichever process. It is for a Run that was killed and is
// disabled since. Where the switch fails to open all stays as it is.
func Remove(ctx context.Context, c Config) error {
	o, closed, err := open(c)
	if err != nil {
		return err
	}
	defer closed()
	if err := o.openAsConfigured(ctx); err != nil {
		return err
	}
	if err := errors.Join(o.removeObjects(ctx), o.closeSwitch()); err != nil {
		return err
	}
	return errors.Join(o.out.deleteTables(ctx), o.desired.Remove())
}

// openAsConfigured opens the switch by the rows that CONFIG_DB has now.
func (o *orch) openAsConfigured(ctx context.Context) error {
	configured, err := o.configDB.Read(ctx, config.Tables()...)
	if err != nil {
		return err
	}
	var b sonicdb.Batch
	for _, r := range configured {
		b.Changes = append(b.Changes, sonicdb.Change{Row: r})
	}
	o.desired.Apply(ctx, b)
	return o.openSwitch(ctx)
}
