// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/daemon/desired"
	"sluice/orchagent-ext/daemon/entries"
	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/daemon/settings"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/audit"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/gate"
	"sluice/orchagent-ext/switch/orchagent"
)

// Switch is an open switch.
type Switch struct {
	engine.Driver   // that programs it
	packetio.Source // of packets to the CPU
	Hardware
	Control control.Switch

	// Kernel: the Linux kernel is the switch, so that its hash is known.
	Kernel bool

	// Rules sends flows to next hops, from any goroutine; nil: the engine does, by Driver.
	Rules placement.RuleSwitch

	// System is what is below the switch, where other programs may take away what Sluice made;
	// nil: that is not known.
	System audit.System

	// Turns gives turns at the switch; nil for a driver that writes rows.
	Turns *gate.Gate
}

// Hardware is the ports and the counters of a switch.
type Hardware interface {
	entries.Hardware

	// Counters returns a reader of counters for the ports of the last SetPorts, which belongs to
	// another goroutine.
	Counters() statistics.Switch

	// PortStats reads the counters of a port; nil: it has none.
	PortStats(name string) *telemetry.PortStats

	// SetPorts learns which port of the switch is which, or fails with ErrPorts. reloaded: ports
	// have come or gone, and what was bound to those that went is gone.
	SetPorts(ports []engine.Port) (reloaded bool, err error)

	// PortsChanged reports whether SetPorts would find other ports now, since some have come
	// or gone without a row of PORT.
	PortsChanged() bool

	// Expect announces the packets that will come to the CPU: those of a policy by the
	// chosen methods.
	Expect(p engine.Policy, c engine.Choices)

	// SampleRate returns how many packets one sample represents, by the last sample; 0: by the
	// policy.
	SampleRate() uint32

	// Warnings returns the faults of objects on the switch, for the operator.
	Warnings() []string

	// Lost returns the counters of packets that the CPU did not get.
	Lost() Lost

	// Close leaves the objects on the switch.
	Close() error
}

// Lost counts packets to the CPU that were lost.
type Lost struct {
	RingFull  uint64  // found the receive ring full
	Policed   uint64  // were more than the policy's CPU allows
	Discarded *uint64 // were dropped by the switch itself; nil: it has no counter
}

// ErrPorts means that a switch is to be opened again, to have the ports that there are now:
// its library does not change them while it is open.
var ErrPorts = errors.New("ports changed since the switch was opened")

// driverOf returns the driver by which a recorded object was created.
func driverOf(r *engine.Record) settings.Driver {
	if orchagent.Owns(r) {
		return settings.Orchagent
	}
	return settings.SAI
}

// opened is a switch that is open, with all that belongs to it: it comes and goes
// as a whole, so that nothing of one switch is taken for another's.
type opened struct {
	*Switch
	driver  settings.Driver
	cpu     engine.CPU // what the switch was to give to the CPU at most when it was opened
	engine  *engine.Engine
	outcome engine.Outcome // of the last Reconcile
	control control.Control
	// at which queues were to be read when the policy was brought to the switch
	pace time.Duration
	// of the system below; nil: it is not audited
	audit *audit.Auditor
}

// forEntries returns the switch as entries need it.
func (s *opened) forEntries() entries.Switch {
	return entries.Switch{Engine: s.engine, Hardware: s.Switch}
}

// stopParts ends the packet path, placement and flow control of the switch that is open.
func (o *orch) stopParts() {
	o.path.StopReading()
	o.placement.Detach()
	o.sw.control.Stop()
}

// openSwitch opens the switch, and takes over the objects of an earlier process. Those by
// another driver are removed before.
func (o *orch) openSwitch(writing context.Context) error {
	want := o.settings().Driver
	all, err := o.ledger.Left(writing)
	if err != nil {
		return err
	}
	left := map[settings.Driver][]*engine.Record{}
	for _, r := range all.Records {
		left[driverOf(r)] = append(left[driverOf(r)], r)
	}
	for other, records := range left {
		if other == want {
			continue
		}
		if err := o.clear(writing, other, records); err != nil {
			return fmt.Errorf("%d objects of the driver %s are to be removed first: %w", len(records), other, err)
		}
	}
	if o.sw, err = o.openBy(writing, want, left[want]); err != nil {
		return err
	}
	if o.ended != nil {
		o.sw.control.Continue(o.ended)
	}
	o.entries.Adopt(o.sw.engine.Flows, o.conf.Now())
	if !o.out.mirrored { // the first time: the rows of flows are of an earlier process
		o.streams.Remember(all.Flows)
		o.entries.Recall(all.Flows)
	}
	return nil
}

// openBy opens the switch by a driver, with an engine that knows its objects: left are
// the records of those that an earlier process created.
func (o *orch) openBy(writing context.Context, d settings.Driver, left []*engine.Record) (done *opened, err error) {
	sw, err := o.conf.Open(Opening{Driver: d, Ports: o.settings().Ports, CPU: o.settings().Policy.CPU, Cold: len(left) == 0})
	if err != nil {
		return nil, err
	}
	defer func() {
		if done == nil { // also by a panic
			err = errors.Join(err, sw.Close())
		}
	}()
	if _, err := sw.SetPorts(o.settings().Ports); err != nil {
		return nil, err
	}
	engine, err := engine.NewEngine(sw.Driver, o.ledger.Of(writing, left), o.conf.Log)
	if err != nil {
		return nil, err
	}
	return &opened{Switch: sw, driver: d, cpu: o.settings().Policy.CPU, engine: engine, audit: audit.New(sw.System, o.conf.Log, o.conf.Now)}, nil
}

// clear removes the objects of a driver that is no longer wanted.
func (o *orch) clear(writing context.Context, d settings.Driver, left []*engine.Record) (err error) {
	sw, err := o.openBy(writing, d, left)
	if err != nil {
		return err
	}
	sw.audit.Close()
	defer func() { err = errors.Join(err, sw.Close()) }()
	_, err = sw.engine.Reconcile(engine.Policy{})
	return err
}

// closeSwitch closes the switch, if it is open. Its objects stay.
func (o *orch) closeSwitch() error {
	if o.sw == nil {
		return nil
	}
	o.stopParts()
	o.statistics.Reconcile(statistics.Settings{})
	sw := o.sw
	sw.audit.Close()
	o.sw, o.ended = nil, &control.Control{}
	// a pointer to sw.control would keep all entries of the switch
	o.ended.Continue(&sw.control)
	return sw.Close()
}

// removeAndClose removes the objects, and closes the switch.
func (o *orch) removeAndClose() error {
	o.stopParts()
	if _, err := o.sw.engine.Reconcile(engine.Policy{}); err != nil {
		return err
	}
	err := o.closeSwitch()
	o.entries = entries.Entries{}
	return err
}

// setPorts gives the switch the ports that there are.
func (o *orch) setPorts(writing context.Context) error {
	reloaded, err := o.sw.SetPorts(o.settings().Ports)
	switch {
	case errors.Is(err, ErrPorts):
		return o.reopen(writing, err)
	case err != nil || !reloaded:
		return err
	}
	o.conf.Log.Info("ports changed")
	return o.sw.engine.CheckBindings()
}

// reopen closes the switch, where its objects stay, and takes it over again.
func (o *orch) reopen(writing context.Context, why error) error {
	o.conf.Log.Warn("reopening the switch", "error", why)
	err := o.closeSwitch()
	// Entries of flows take half of the memory. Those of the closed switch go now: otherwise
	// they stay beside those that are taken over, until the collector's next cycle.
	debug.FreeOSMemory()
	return errors.Join(err, o.openSwitch(writing))
}

// audit checks whether the system below the switch has what Sluice made there, and puts it back
// unless SONiC is loading its tables again.
func (o *orch) audit() {
	if o.sw != nil {
		o.sw.audit.Look(o.desired.Phase() == desired.Steady)
	}
}

// checkDrift checks whether other processes have changed Sluice's objects, and reports
// whether there is something to correct. Failures, and tables that SONiC is loading
// again, are left to the caller that waits for them.
func (o *orch) checkDrift() bool {
	if o.sw == nil || o.failed.err != nil || o.desired.Phase() != desired.Steady {
		return false
	}
	if o.sw.PortsChanged() || o.sw.control.Pace() != o.sw.pace {
		return true
	}
	changed, err := o.sw.engine.CheckDrift()
	if err != nil {
		o.recordFailure(err)
	} else if changed {
		o.conf.Log.Info("drift found: another process changed objects of Sluice, or the abilities of the switch changed")
	}
	return changed || err != nil
}
