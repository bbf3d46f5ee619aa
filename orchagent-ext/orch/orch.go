// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/leaffile"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
)

// Config of Run.
type Config struct {
	Databases *sonicdb.Databases
	Version   string

	// Open opens the switch by a driver. It is called again after it failed. Cold
	// says that no ledger remembers what an earlier process left there: it is to be
	// wiped.
	Open func(driver Driver, s *config.Snapshot, cold bool) (*Switch, error)

	// StateFile is where the rows in force are kept for the next start; "": nowhere.
	StateFile string

	// Warnings are what parts that orch does not know have to say to the operator,
	// besides what the switch does. nil: none.
	Warnings func() []string

	// Files are the folders of files that rows may name.
	Files leaffile.Folders

	Log *slog.Logger
	Now func() time.Time
}

// Times of the loop.
const (
	tick       = time.Second            // between two looks at the counters
	firstRetry = 200 * time.Millisecond // after a failure; doubled up to the longest
	lastRetry  = 10 * time.Second
	newsBatch  = 2048 // flows that get their entries at once

	// settle is how long CONFIG_DB is to be quiet once it has ports again: SONiC
	// writes table after table.
	settle = 2 * time.Second

	// endTime is how long the end may take with a Redis that hangs. A container that
	// is stopped is killed after 10 s.
	endTime = 8 * time.Second
)

// Run runs the loop until ctx is done. A fault in it, or in a task beside it, does
// not end it: the loop starts again, and takes over what is on the switch.
func Run(ctx context.Context, c Config) error {
	var f faults
	for {
		began := c.Now()
		err := run(ctx, c, &f)
		var failed *fault
		if ctx.Err() != nil || !errors.As(err, &failed) {
			return err
		}
		f.note(failed, began, c.Now())
		c.Log.Error("the loop ended by a fault, and is started again", "error", failed, "faults", f.count, "in", f.delay)
	}
}

// run runs the loop once.
func run(ctx context.Context, c Config, f *faults) error {
	o, closed, err := open(c)
	if err != nil {
		return err
	}
	defer closed()
	o.faults = f

	// What writes rows outlives the loop, so that the last words are written.
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endTime, closed) })()
	g := tasks{group, c.Log}
	group.Go(func() error {
		defer stop()
		return guard(c.Log, func() error {
			o.publish(writing)
			if !wait(ctx, f.delay) {
				return o.end(writing)
			}
			o.readAhead(writing, g)
			g.Go(func() error {
				return o.configDB.Watch(ctx, config.Tables(), func(b sonicdb.Batch) {
					select {
					case o.batches <- b:
					case <-ctx.Done():
					}
				})
			})
			g.Go(func() error { return o.counters.Run(writing) })
			g.Go(func() error { return o.keeper.run(writing) })
			return o.loop(ctx, writing, g)
		})
	})
	err = group.Wait()
	o.copy.close()
	o.hops.stop()
	return errors.Join(err, guard(c.Log, o.closeSwitch))
}

// wait sleeps; it reports whether ctx let it.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// open opens the databases. The caller closes them.
func open(c Config) (o *orch, closed func(), err error) {
	o = &orch{Config: c, started: c.Now(), batches: make(chan sonicdb.Batch, 16), state: config.New(), rejectedAt: map[string]time.Time{}}
	var all []*sonicdb.DB
	closed = func() {
		for _, db := range all {
			_ = db.Close() // nothing waits in it
		}
	}
	for name, to := range map[string]**sonicdb.DB{"CONFIG_DB": &o.configDB, "STATE_DB": &o.stateDB, "COUNTERS_DB": &o.countersDB} {
		if *to, err = sonicdb.Open(c.Databases, name, c.Log); err != nil {
			closed()
			return nil, nil, err
		}
		all = append(all, *to)
	}
	o.rows = sonicdb.NewMirror(o.stateDB, telemetry.TableState, telemetry.TableCapability, telemetry.TableConfigError, telemetry.TableObject, telemetry.TableFlow, telemetry.TableHold, telemetry.TablePlacementFabric, telemetry.TablePlacementGroup, telemetry.TablePlacementMember, telemetry.TableNextHop, telemetry.TableHash)
	o.counters = sonicdb.NewMirror(o.countersDB, telemetry.TableStats, telemetry.TablePortStats, telemetry.TableQueueStats, telemetry.TableIPFIXStats, telemetry.TableNotify)
	o.warm.db = o.stateDB
	o.copy = newLedgerCopy(c.StateFile, fmt.Sprintf("%s/%d", o.stateDB.Address, o.stateDB.ID), c.Log)
	o.keeper = newKeeper(c.StateFile, fmt.Sprintf("%s/%d", o.configDB.Address, o.configDB.ID))
	return o, closed, nil
}

// orch is the state of the loop. Only its goroutine touches it.
type orch struct {
	Config
	started  time.Time
	batches  chan sonicdb.Batch
	warm     warmRestart
	rows     *sonicdb.Mirror // of STATE_DB
	counters *sonicdb.Mirror // of COUNTERS_DB

	configDB, stateDB, countersDB *sonicdb.DB

	state      *config.State
	snapshot   *config.Snapshot // nil before CONFIG_DB was read
	unloaded   bool             // CONFIG_DB has lost its ports: the snapshot is the one before
	settling   bool             // more rows may come: at the start, and when it has ports again
	starting   bool             // the first rows have come, and nothing was done yet
	unknown    bool             // objects are on the switch, and not known is which rows were in force
	keeper     *keeper
	copy       *ledgerCopy
	rejectedAt map[string]time.Time // rows that are not in force, by TABLE|key
	sw         *opened              // nil: the switch is not open
	earlier    flowLog              // of the switch that was open before, whose entries are still there
	exporting  *exporting
	exportErr  error // why nothing is exported, though it is configured
	streams    streamIDs
	shared     *shared     // nil: placement's scope is local
	programmed *programmed // nil: the order of next hops on the switch is the kernel's, or not needed
	faults     *faults
	links      links
	hops       hops

	ledgerWarning string // of rows of the ledger that were set aside; "": there were none

	lastErr   error // nil: the configuration is in force
	errAt     time.Time
	countErr  error
	encodeErr error // why a row is not written
	retry     time.Duration
	mirrored  bool // the mirror of STATE_DB runs

	ahead <-chan *leftRows // what an earlier process left, once it is read; nil: it is read when it is needed
}

// loop decides and acts until ctx is done.
func (o *orch) loop(ctx, writing context.Context, g tasks) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	o.publish(writing)
	for {
		if ctx.Err() != nil { // before whatever else is due
			if faulted(ctx) {
				return nil // the next run takes over
			}
			return o.end(writing)
		}
		var news <-chan packetio.NewFlow
		if o.sw != nil && o.sw.reader != nil {
			news = o.sw.reader.News()
		}
		var moved <-chan struct{}
		if o.sw != nil && o.sw.lane != nil {
			moved = o.sw.lane.neighbors.Changed()
		}
		var hops, polls = o.placing()
		select {
		case <-ctx.Done():
		case <-moved:
			o.control(ctx, g)
		case <-hops:
			o.sw.place.Stale(o.Now())
		case <-o.programmed.changed():
			if o.sw != nil && o.sw.place != nil {
				o.sw.place.Stale(o.Now())
			}
		case <-polls:
			o.pollPlacement()
		case b := <-o.batches:
			again.Reset(o.change(writing, b))
		case <-again.C:
			if o.snapshot == nil {
				break
			}
			if o.loading(ctx) {
				o.note(errLoading)
				o.publish(writing)
				again.Reset(settle)
				break
			}
			if o.settling && !o.unloaded {
				o.settled()
				o.keeper.keep(o.state.Known())
			}
			o.keeper.wait()
			o.note(o.reconcile(ctx, writing, g))
			o.chooseScope(ctx, g)
			o.share(ctx, g)
			o.publish(writing)
			again.Reset(o.backoff())
		case f := <-news:
			if err := o.addFlows(f, news); err != nil {
				o.note(err)
				again.Reset(o.backoff())
			}
		case <-ticker.C:
			if o.checkDrift() {
				again.Reset(0)
			}
			if ctx.Err() == nil { // a Redis that hangs has held up the look
				o.chooseScope(ctx, g)
				o.control(ctx, g)
				o.count()
				o.share(ctx, g)
				o.exchange()
				o.publishHops()
			}
			o.publish(writing)
		}
	}
}

// change takes what changed in CONFIG_DB, and returns when to act on it. A database
// that has lost all ports is one that SONiC has not loaded again yet: until it
// has, the configuration before stays in force.
func (o *orch) change(ctx context.Context, b sonicdb.Batch) time.Duration {
	if o.snapshot == nil {
		o.remember(ctx)
		o.settling, o.starting = true, true
	}
	snapshot, rejected := o.state.Apply(b.Changes)
	if len(snapshot.SwitchPorts) == 0 && o.snapshot != nil && len(o.snapshot.SwitchPorts) > 0 {
		if !o.unloaded {
			o.Log.Warn(noPorts)
		}
		o.unloaded = true
		return 0
	}
	o.snapshot = snapshot
	for i := range rejected {
		o.Log.Warn("a row is not in force", "error", &rejected[i])
		o.rejectedAt[rejected[i].Table+"|"+rejected[i].Key] = o.Now()
	}
	o.settling = o.settling || o.unloaded
	o.unloaded = false
	due := o.due(ctx)
	if due == 0 {
		o.keeper.keep(o.state.Known())
	}
	return due
}

const noPorts = "CONFIG_DB has no PORT rows any more: what is on the switch is kept until it has"

// note remembers a failure for STATE_DB and logs it, once where it stays.
func (o *orch) note(err error) {
	if err == nil {
		o.lastErr, o.retry = nil, 0
		return
	}
	if o.lastErr == nil || o.lastErr.Error() != err.Error() {
		o.Log.Error("the switch is not as configured; trying again", "error", err)
	}
	o.lastErr, o.errAt = err, o.Now()
}

// backoff is when to try again: never, while all is well.
func (o *orch) backoff() time.Duration {
	if o.lastErr == nil {
		return time.Hour
	}
	o.retry = min(max(2*o.retry, firstRetry), lastRetry)
	return o.retry
}

// reconcile brings the switch to what is configured.
func (o *orch) reconcile(ctx, writing context.Context, g tasks) error {
	if err := o.warm.begin(writing); err != nil {
		return err
	}
	if want := DriverOf(o.snapshot); o.sw != nil && o.sw.driver != want {
		from := o.sw.driver
		if err := o.leave(); err != nil {
			return fmt.Errorf("change the driver from %s to %s: %w", from, want, err)
		}
	}
	if o.sw == nil {
		if err := o.openSwitch(writing); err != nil {
			return err
		}
	}
	if err := errors.Join(o.warm.reached(writing, warmRestored), o.warm.reached(writing, warmReplayed)); err != nil {
		return err
	}
	if !o.mirrored { // not before the ledger was read: a mirror deletes rows that were not set
		o.mirrored = true
		g.Go(func() error { return o.rows.Run(writing) })
	}
	err := o.sw.SetPorts(Ports(o.snapshot))
	if errors.Is(err, ErrPorts) {
		err = o.reopen(writing)
	}
	if err != nil {
		return err
	}
	p := Policy(o.snapshot)
	outcome, err := o.sw.engine.Reconcile(p)
	for _, n := range asic.Needs() {
		if is, was := outcome.Choices[n], o.sw.outcome.Choices[n]; is.Method != was.Method || is.Reason != was.Reason {
			o.Log.Info("method", "need", n, "method", is.Method, "reason", is.Reason)
		}
	}
	for _, problem := range outcome.Problems {
		o.Log.Warn("done without", "object", problem)
	}
	if outcome.Created+outcome.Removed+outcome.Set > 0 {
		o.Log.Info("the switch is brought to what is configured", "created", outcome.Created, "removed", outcome.Removed, "set", outcome.Set)
	}
	o.sw.outcome = outcome
	if !outcome.Pins() {
		o.sw.flows.clear()
	}
	o.sw.flows.computed = outcome.Method(asic.NeedFlowLabel) == asic.Compute
	if err != nil {
		return err
	}
	if err := o.sw.fit(p.FlowCapacity, o.Now()); err != nil {
		return err
	}
	o.place()
	o.learnOrder(ctx, g)
	o.read(ctx, g, p)
	o.control(ctx, g)
	return o.warm.reached(writing, warmReconciled)
}

// read brings the packet path and the exporter behind it to what is configured.
func (o *orch) read(ctx context.Context, g tasks, p asic.Policy) {
	if o.sw.outcome.Method(asic.NeedExport) == asic.None {
		p.Export = nil // records of what was not sampled would say too little
	}
	o.sw.Expect(p, o.sw.outcome.Choices)
	var want exporterSettings
	if p.Export != nil && exports(o.snapshot) {
		want = exporterSettingsOf(o.snapshot)
	}
	o.exporting, o.exportErr = o.exporting.restart(ctx, g, want, collectors(o.snapshot), &o.Config, o.sw.stopReading)
	settings := readerSettingsOf(o.snapshot, p, o.sw.outcome.Choices, o.exporting != nil, o.sw.cpu)
	o.sw.reader = o.sw.reader.restart(ctx, g, o.sw, settings, o.exporting, o.Now)
}
