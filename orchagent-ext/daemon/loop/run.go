// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/orchagent-ext/daemon/desired"
	"sluice/orchagent-ext/daemon/memory"
	"sluice/orchagent-ext/daemon/routes"
	"sluice/orchagent-ext/daemon/settings"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/switch/engine"
)

// Config of Run.
type Config struct {
	// The addresses of SONiC's databases, and this build's version for STATE_DB.
	Databases *sonicdb.Databases
	Version   string

	// Open opens the switch. It is called again after it failed.
	Open func(Opening) (*Switch, error)

	// StateFile is where the rows in force are kept for the next start; "": nowhere.
	StateFile string

	// Warnings returns warnings of the caller's parts. It may be nil.
	Warnings func() []string

	// Realtime makes the process ready for a real-time thread that runs Go, or as it was before. It
	// may be nil.
	Realtime func(on bool)

	// Files reads the files that rows name.
	Files files.Reader

	// EtcdPlaintext allows to send the password of etcd in plain text. The command line or the
	// environment sets it: by a row, the user who names the endpoints would get the password.
	EtcdPlaintext bool

	// Both must be set. Now is time.Now, but for tests.
	Log *slog.Logger
	Now func() time.Time
}

// Opening is how a switch is to be opened.
type Opening struct {
	Driver settings.Driver
	Ports  []engine.Port // rows of PORT
	CPU    engine.CPU    // packets that it gives to the CPU at most
	Cold   bool          // the ledger is empty: objects of an earlier process are to be wiped
}

// Times of the loop.
const (
	tick       = time.Second            // between two polls of the counters
	firstRetry = 200 * time.Millisecond // after a failure; doubled up to the longest
	lastRetry  = 10 * time.Second
	newsBatch  = 2048 // flows that get their entries at once

	// endTime is how long the end may take with a Redis that hangs. A container that
	// is stopped is killed after 10 s.
	endTime = 8 * time.Second
)

// Run runs the loop until ctx is done. After a fault in it, or in a task beside it, the loop
// starts again, and adopts the objects on the switch.
func Run(ctx context.Context, c Config) error {
	var f task.Faults
	for {
		began := c.Now()
		err := run(ctx, c, &f)
		var failed *task.Fault
		if ctx.Err() != nil || !errors.As(err, &failed) {
			return err
		}
		f.Add(failed, began, c.Now())
		c.Log.Error("loop failed, restarting", "error", failed, "faults", f.Count, "in", f.Delay)
	}
}

// run runs the loop once.
func run(ctx context.Context, c Config, f *task.Faults) error {
	o, closed, err := open(c)
	if err != nil {
		return err
	}
	defer closed()
	o.faults = f

	// The mirrors outlive the loop, so that its last rows are written.
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, ctx := task.NewGroup(ctx, c.Log)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endTime, closed) })()
	g.Lead(func() error {
		defer stop()
		o.publish(writing)
		if !clock.Sleep(ctx, f.Delay) {
			return o.end(writing)
		}
		o.ledger.ReadAhead(writing, g)
		batches := make(chan sonicdb.Batch, 16)
		g.Go(func() error {
			return o.configDB.Watch(ctx, config.Tables(), func(b sonicdb.Batch) {
				select {
				case batches <- b:
				case <-ctx.Done():
				}
			})
		})
		g.Go(func() error { return o.out.counters.Run(writing) })
		g.Go(func() error { return o.desired.Run(writing) })
		g.Go(func() error { return o.statistics.Run(ctx) })
		return o.loop(ctx, writing, g, batches)
	})
	err = g.Wait()
	o.ledger.Close()
	return errors.Join(err, task.Guard(c.Log, o.closeSwitch))
}

// open opens the databases. The caller closes them.
func open(c Config) (o *orch, closed func(), err error) {
	o = &orch{conf: c, started: c.Now()}
	var stateDB, countersDB *sonicdb.DB
	var all []*sonicdb.DB
	closed = func() {
		for _, db := range all {
			_ = db.Close() // nothing waits in it
		}
	}
	for name, to := range map[string]**sonicdb.DB{"CONFIG_DB": &o.configDB, "STATE_DB": &stateDB, "COUNTERS_DB": &countersDB} {
		if *to, err = sonicdb.Open(c.Databases, name, c.Log); err != nil {
			closed()
			return nil, nil, err
		}
		all = append(all, *to)
	}
	o.out = publishTo(stateDB, countersDB, c.Log)
	o.statistics = statistics.New(o.out.counters, c.Log, c.Now)
	o.warm.DB = stateDB
	o.routes = routes.New(o.out.state, &o.out.encoder)
	o.desired = desired.New(o.configDB, stateDB, c.StateFile, c.Log, c.Now)
	o.ledger = memory.NewLedger(o.out.state, c.StateFile, fmt.Sprintf("%s/%d", stateDB.Address, stateDB.ID), o.desired.Kept, c.Log)
	return o, closed, nil
}
