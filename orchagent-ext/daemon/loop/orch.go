// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/daemon/desired"
	"sluice/orchagent-ext/daemon/entries"
	"sluice/orchagent-ext/daemon/memory"
	"sluice/orchagent-ext/daemon/packetpath"
	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/routes"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/daemon/streamids"
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

	// Open opens the switch by a driver. It is called again after it failed. Where cold is
	// true the ledger is empty, and objects of an earlier process are to be wiped.
	Open func(driver policy.Driver, s *config.Snapshot, cold bool) (*Switch, error)

	// StateFile is where the rows in force are kept for the next start; "": nowhere.
	StateFile string

	// Warnings returns warnings of the caller's parts. It may be nil.
	Warnings func() []string

	// Files reads the files that rows name.
	Files files.Reader

	// EtcdPlaintext allows to send the password of etcd in plain text. The command line or the
	// environment sets it: by a row, the user who names the endpoints would get the password.
	EtcdPlaintext bool

	// Both must be set. Now is time.Now, but for tests.
	Log *slog.Logger
	Now func() time.Time
}

// Times of the loop.
const (
	tick       = time.Second            // between two looks at the counters
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
		c.Log.Error("the loop ended by a fault, and is started again", "error", failed, "faults", f.Count, "in", f.Delay)
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
	o.routes.Stop()
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
	o.ledger = memory.NewLedger(o.out.state, c.StateFile, fmt.Sprintf("%s/%d", stateDB.Address, stateDB.ID), c.Log)
	o.desired = desired.New(o.configDB, stateDB, c.StateFile, c.Log, c.Now)
	return o, closed, nil
}

// orch is the loop with its parts. Only its goroutine touches it.
type orch struct {
	conf     Config
	started  time.Time
	configDB *sonicdb.DB
	out      published
	failed   failure
	// The configuration: rows as they come, the snapshot in force, and its copy in a
	// file.
	desired *desired.State
	warm    memory.WarmRestart
	// The objects on the switch, by SAI or by rows. It outlives sw, and its rows outlive the
	// process.
	ledger *memory.Ledger
	sw     *opened // nil: the switch is not open
	// flow control of the switch that was open before, whose counters go on; nil before the first
	ended   *control.Control
	entries entries.Entries // also while no switch is open
	// Parts that are started, compared with the settings and stopped by act. Their zero
	// value is a part that is off.
	path       packetpath.Path
	streams    streamids.IDs
	placement  placement.Placement
	routes     *routes.Routes
	statistics *statistics.Task
	// The faults of the runs so far; run sets it, and Run adds to it.
	faults *task.Faults
}

// snapshot returns the configuration in force; nil before CONFIG_DB was read.
func (o *orch) snapshot() *config.Snapshot { return o.desired.Snapshot() }

// loop decides and acts until ctx is done.
func (o *orch) loop(ctx, writing context.Context, g task.Group, batches <-chan sonicdb.Batch) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	o.publish(writing)
	for {
		if ctx.Err() != nil { // before whatever else is due
			if task.Faulted(ctx) {
				return nil // the next run takes over
			}
			return o.end(writing)
		}
		news := o.path.NewFlows()
		var neighbors <-chan struct{}
		if o.sw != nil {
			neighbors = o.sw.control.Changed()
		}
		placed := o.placement.Events()
		act := func() {}
		select {
		case <-ctx.Done():
		case <-neighbors:
			act = func() { o.neighborsChanged(ctx, writing, g) }
		case <-placed.Hops:
			act = o.placement.HopsChanged
		case <-placed.Order:
			act = o.placement.HopsChanged
		case <-placed.Polls:
			act = func() { o.placement.Poll(holds{&o.sw.control, o.streams.ID}) }
		case held := <-placed.Held:
			act = func() { o.placement.Move(held) }
		case request := <-o.placement.Requests():
			act = func() { o.placement.Serve(request) }
		case b := <-batches:
			act = func() {
				if o.desired.Kill(b) {
					o.kill(ctx, writing, g)
				}
				again.Reset(o.desired.Apply(writing, b))
			}
		case <-again.C:
			act = func() { again.Reset(o.act(ctx, writing, g)) }
		case f := <-news:
			act = func() {
				if err := o.addFlows(f, news); err != nil {
					o.note(err)
					again.Reset(o.failed.backoff())
				}
			}
		case <-ticker.C:
			act = func() {
				if o.look(ctx, writing, g) {
					again.Reset(0)
				}
			}
		}
		act()
	}
}

// act brings the switch to the configuration, and returns when to do so again.
func (o *orch) act(ctx, writing context.Context, g task.Group) time.Duration {
	if o.snapshot() == nil {
		return time.Hour // a change comes first
	}
	if o.desired.Loading(ctx) {
		o.note(desired.ErrLoading)
		o.publish(writing)
		return desired.SettleTime
	}
	o.desired.Settle()
	due := o.desired.GiveUp(ctx)
	o.note(o.reconcile(ctx, writing, g))
	o.giveStreamIDs(ctx, g)
	o.share(ctx, g)
	o.publish(writing)
	return min(o.failed.backoff(), due)
}

// kill ends holds, and takes Sluice's objects off the switch, before all else that a change
// causes.
func (o *orch) kill(ctx, writing context.Context, g task.Group) {
	if o.sw == nil {
		return
	}
	o.control(ctx, g)
	o.note(o.reconcile(ctx, writing, g))
}

// look reads counters, and publishes. It reports whether the switch is to be brought to the
// configuration again.
func (o *orch) look(ctx, writing context.Context, g task.Group) (drifted bool) {
	drifted = o.checkDrift()
	if ctx.Err() == nil { // a Redis that hangs has held up the look
		o.giveStreamIDs(ctx, g)
		o.control(ctx, g)
		o.count()
		o.share(ctx, g)
		o.placement.Exchange(&o.out.encoder)
		o.publishRoutes()
	}
	o.publish(writing)
	return drifted
}

// note remembers why the switch is other than configured; nil: it is as configured.
func (o *orch) note(err error) { o.failed.note(err, o.conf.Now(), o.conf.Log) }

// reconcile brings the switch to the configuration.
func (o *orch) reconcile(ctx, writing context.Context, g task.Group) error {
	if err := o.warm.Begin(writing); err != nil {
		return err
	}
	if want := policy.DriverOf(o.snapshot()); o.sw != nil && o.sw.driver != want {
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
	if err := errors.Join(o.warm.Reached(writing, memory.WarmRestored), o.warm.Reached(writing, memory.WarmReplayed)); err != nil {
		return err
	}
	o.out.mirror(writing, g)
	if err := o.setPorts(writing); err != nil {
		return err
	}
	o.statistics.Reconcile(o.sw.Counters(), statistics.PortsOf(o.snapshot()))
	p := policy.Of(o.snapshot())
	o.sw.pace = o.sw.control.Pace()
	p.Depths.Interval = o.sw.pace
	o.placement.Prohibit(o.snapshot())
	outcome, err := o.sw.engine.Reconcile(p)
	for _, n := range engine.Needs() {
		if is, was := outcome.Choices[n], o.sw.outcome.Choices[n]; is.Method != was.Method || is.Reason != was.Reason {
			o.conf.Log.Info("method", "need", n, "method", is.Method, "reason", is.Reason)
		}
	}
	for _, problem := range outcome.Problems {
		o.conf.Log.Warn("done without", "object", problem)
	}
	if outcome.Created+outcome.Removed+outcome.Set > 0 {
		o.conf.Log.Info("the switch is brought to what is configured", "created", outcome.Created, "removed", outcome.Removed, "set", outcome.Set)
	}
	o.sw.outcome = outcome
	if p.Export != nil {
		p.Export.Rate = outcome.Sampling
	}
	o.entries.SetMethod(&outcome)
	if err != nil {
		return err
	}
	if err := o.entries.Fit(p.FlowCapacity, o.sw.engine, o.conf.Now()); err != nil {
		return err
	}
	o.place(ctx, g)
	o.sw.Expect(p, o.sw.outcome.Choices)
	o.path.Reconcile(ctx, g, packetpath.SettingsOf(o.snapshot(), p, o.sw.outcome.Choices, o.sw.cpu), &packetpath.Environment{
		Source: o.sw, Learned: o.sw.control.Learn, Watched: o.sw.control.Sample, Read: o.conf.Files.Read, Log: o.conf.Log, Now: o.conf.Now,
	})
	o.placement.Feed(o.path.Samples())
	o.control(ctx, g)
	return o.warm.Reached(writing, memory.WarmReconciled)
}

// addFlows gives the flow, and those that wait behind it, their entries, as far as
// they are admitted.
func (o *orch) addFlows(first packetio.NewFlow, more <-chan packetio.NewFlow) error {
	news := []packetio.NewFlow{first}
	for len(news) < newsBatch && len(more) > 0 {
		news = append(news, <-more)
	}
	if !o.sw.outcome.Pins() {
		return nil
	}
	err := o.entries.Add(news, o.sw.forEntries(), &o.placement, o.conf.Now())
	o.entries.LogRefused(o.conf.Log, o.conf.Now())
	return err
}

// control brings flow control to the configuration, and to the neighbors and queues of now.
func (o *orch) control(ctx context.Context, g task.Group) {
	if o.sw == nil || o.snapshot() == nil {
		return
	}
	env := control.Environment{Library: o.sw.Library, Ports: o.sw.Ports, Depths: o.sw.Depths, Log: o.conf.Log}
	sampling := cmp.Or(o.sw.SampleRate(), o.sw.outcome.Sampling)
	o.sw.control.Reconcile(ctx, g, control.Settings{Snapshot: o.snapshot(), Choices: o.sw.outcome.Choices, Sampling: sampling, Hosts: o.path.RoundTrips().Hosts, Now: o.conf.Now()}, &env)
}

// neighborsChanged brings flow control to the neighbors of now. The first ones make it active.
func (o *orch) neighborsChanged(ctx, writing context.Context, g task.Group) {
	before := o.sw.control.Active()
	if o.control(ctx, g); o.sw.control.Active() != before {
		o.publish(writing)
	}
}

// giveStreamIDs brings the Stream IDs to the configuration. Before the switch is open the
// IDs of an earlier process are unknown.
func (o *orch) giveStreamIDs(ctx context.Context, g task.Group) {
	if o.sw != nil {
		o.streams.Reconcile(ctx, g, streamids.SettingsOf(o.snapshot()), o.etcdAccess(), o.conf.Log)
	}
}

func (o *orch) etcdAccess() *policy.EtcdAccess {
	return &policy.EtcdAccess{Read: o.conf.Files.Read, ReadPassword: o.conf.Files.ReadPassword, Plaintext: o.conf.EtcdPlaintext}
}
