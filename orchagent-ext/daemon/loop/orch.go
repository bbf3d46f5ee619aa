// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/daemon/desired"
	"sluice/orchagent-ext/daemon/entries"
	"sluice/orchagent-ext/daemon/memory"
	"sluice/orchagent-ext/daemon/packetpath"
	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/daemon/routes"
	"sluice/orchagent-ext/daemon/settings"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/daemon/streamids"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/etcd"
	"sluice/orchagent-ext/switch/engine"
)

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

// settings returns those in force; nil before CONFIG_DB was read.
func (o *orch) settings() *settings.Settings { return o.desired.Settings() }

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
		var neighbors, turnover, below <-chan struct{}
		if o.sw != nil {
			neighbors, turnover, below = o.sw.control.Changed(), o.sw.control.News(), o.sw.audit.News()
		}
		placed := o.placement.Events()
		act := func() {}
		select {
		case <-ctx.Done():
		case <-neighbors:
			act = func() { o.neighborsChanged(writing, g) }
		case <-turnover:
			act = func() {
				o.out.replaceState(telemetry.TableHold, o.sw.control.HoldRows(instant(o.conf.Now())))
			}
		case <-below:
			act = o.audit
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
					o.recordFailure(err)
					again.Reset(o.failed.backoff())
				}
			}
		case <-ticker.C:
			act = func() {
				if o.poll(ctx, writing, g) {
					again.Reset(0)
				}
			}
		}
		act()
	}
}

// act brings the switch to the configuration, and returns when to do so again.
func (o *orch) act(ctx, writing context.Context, g task.Group) time.Duration {
	if o.settings() == nil {
		return time.Hour // a change comes first
	}
	if o.desired.Loading(ctx) {
		o.recordFailure(desired.ErrLoading)
		o.publish(writing)
		return desired.SettleTime
	}
	o.desired.Confirm()
	due := o.desired.GiveUp(ctx)
	o.recordFailure(o.reconcile(ctx, writing, g))
	o.desired.Kept()
	o.reconcileStreamIDs(g)
	o.reconcileSharing(g)
	o.publish(writing)
	return min(o.failed.backoff(), due)
}

// kill ends holds, and takes Sluice's objects off the switch, before all else that a change
// causes.
func (o *orch) kill(ctx, writing context.Context, g task.Group) {
	if o.sw == nil {
		return
	}
	o.reconcileControl(g)
	o.recordFailure(o.reconcile(ctx, writing, g))
}

// poll reads counters, and publishes. It reports whether the switch is to be brought to the
// configuration again.
func (o *orch) poll(ctx, writing context.Context, g task.Group) (drifted bool) {
	o.audit()
	drifted = o.checkDrift()
	if ctx.Err() == nil { // a Redis that hangs has held up the loop
		o.reconcileStreamIDs(g)
		o.reconcileControl(g)
		o.publishCounters()
		o.reconcileSharing(g)
		o.placement.Exchange(&o.out.encoder)
		o.publishRoutes(g)
	}
	o.publish(writing)
	return drifted
}

// recordFailure remembers why the switch is other than configured; nil: it is as configured.
func (o *orch) recordFailure(err error) { o.failed.record(err, o.conf.Now(), o.conf.Log) }

// reconcile brings the switch to the configuration.
func (o *orch) reconcile(ctx, writing context.Context, g task.Group) error {
	if err := o.warm.Begin(writing); err != nil {
		return err
	}
	if want := o.settings().Driver; o.sw != nil && o.sw.driver != want {
		from := o.sw.driver
		if err := o.removeAndClose(); err != nil {
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
	want := o.settings()
	o.statistics.Reconcile(statistics.Settings{Switch: o.sw.Counters(), Ports: want.Statistics})
	p := want.Policy
	o.sw.pace = o.sw.control.Pace()
	p.Depths.Interval = o.sw.pace
	o.placement.Prohibit(&want.Placement)
	outcome, err := o.sw.engine.Reconcile(p)
	for _, n := range engine.Needs() {
		if is, was := outcome.Choices[n], o.sw.outcome.Choices[n]; is.Method != was.Method || is.Reason != was.Reason {
			o.conf.Log.Info("method", "need", n, "method", is.Method, "reason", is.Reason)
		}
	}
	for _, problem := range outcome.Problems {
		o.conf.Log.Warn("object omitted", "reason", problem)
	}
	if outcome.Created+outcome.Removed+outcome.HandedOver+outcome.Set > 0 {
		o.conf.Log.Info("switch reconciled", "created", outcome.Created, "removed", outcome.Removed, "handed_over", outcome.HandedOver, "set", outcome.Set)
	}
	o.sw.outcome = outcome
	if p.Export != nil {
		export := *p.Export
		export.Rate = outcome.Sampling
		p.Export = &export
	}
	o.entries.SetMethod(&outcome)
	if err != nil {
		return err
	}
	if err := o.entries.Fit(p.FlowCapacity, o.sw.engine, o.conf.Now()); err != nil {
		return err
	}
	o.reconcilePlacement(g)
	o.sw.Expect(p, o.sw.outcome.Choices)
	in := packetpath.Inputs{Policy: p, Choices: o.sw.outcome.Choices, Opened: o.sw.cpu, Chance: cmp.Or(o.sw.SampleRate(), o.sw.outcome.Chance)}
	o.path.Reconcile(g, &want.Path, in, &packetpath.Environment{
		Source: o.sw, Learned: o.sw.control.Learn, Watched: o.sw.control.Sample, Read: o.conf.Files.Read, Log: o.conf.Log, Now: o.conf.Now,
	})
	o.placement.Feed(o.path.Samples())
	o.reconcileControl(g)
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

// reconcileControl brings flow control to the configuration, and to the neighbors and queues of now.
func (o *orch) reconcileControl(g task.Group) {
	if o.sw == nil || o.settings() == nil {
		return
	}
	env := control.Environment{Switch: o.sw.Control, Realtime: o.conf.Realtime, Log: o.conf.Log}
	in := control.Inputs{Choices: o.sw.outcome.Choices, Sampling: cmp.Or(o.sw.SampleRate(), o.sw.outcome.Sampling), Hosts: o.path.RoundTrips().Hosts, Now: o.conf.Now()}
	o.sw.control.Reconcile(g, &o.settings().Control, in, &env)
}

// neighborsChanged brings flow control to the neighbors of now. The first ones make it active.
func (o *orch) neighborsChanged(writing context.Context, g task.Group) {
	before := o.sw.control.Active()
	if o.reconcileControl(g); o.sw.control.Active() != before {
		o.publish(writing)
	}
}

// reconcileStreamIDs brings the Stream IDs to the configuration. Before the switch is open the
// IDs of an earlier process are unknown.
func (o *orch) reconcileStreamIDs(g task.Group) {
	if o.sw != nil {
		o.streams.Reconcile(g, o.settings().Streams, o.etcdAccess(), o.conf.Log)
	}
}

func (o *orch) etcdAccess() *etcd.Access {
	return &etcd.Access{Read: o.conf.Files.Read, ReadPassword: o.conf.Files.ReadPassword, Plaintext: o.conf.EtcdPlaintext}
}
