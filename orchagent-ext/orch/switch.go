// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/asic/orchagent"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/telemetry"
)

// Switch is an open switch.
type Switch interface {
	asic.Driver
	packetio.Source

	// SetPorts learns which port of the switch is which, or fails with ErrPorts.
	SetPorts(ports []asic.Port) error

	// PortName returns the name of a port by its number in frames; "": it has none, or
	// is not known.
	PortName(number uint64) string

	// Count returns the packets and octets that an ACL counter counted.
	Count(counter *asic.Record) (packets, octets uint64, err error)

	// PortStats returns a port's counters.
	PortStats(name string) (telemetry.Port, error)

	// Queues returns counters of the egress queues of ports, as far as they are known.
	Queues(ports map[string]bool) ([]telemetry.Queue, error)

	// Warnings are what the operator should know of what stands.
	Warnings() []string

	// RingFull returns how many packets to the CPU found the receive ring full.
	RingFull() uint64

	// Policed returns how many packets to the CPU were more than the policy's CPU allows.
	Policed() uint64

	// Close leaves what stands standing.
	Close() error
}

// ErrPorts says that a switch is to be opened again, to have the ports that there
// are now. Where these change without a row of PORT, its method PortsChanged says so.
var ErrPorts = errors.New("the ports are others than the switch was opened with")

// Driver names a way to the switch, as SLUICE|global driver does.
type Driver string

// The drivers.
const (
	SAI       Driver = "sai"
	Orchagent Driver = "orchagent"
)

// DriverOf is the driver that is configured.
func DriverOf(s *config.Snapshot) Driver {
	if s.Global.Driver == config.DriverOrchagent {
		return Orchagent
	}
	return SAI
}

// made is the driver by which a recorded object was created.
func made(r *asic.Record) Driver {
	if orchagent.Owns(r) {
		return Orchagent
	}
	return SAI
}

// openSwitch opens the switch, and takes over what an earlier process left there.
// What one left by another driver is removed before.
func (o *orch) openSwitch(writing context.Context) error {
	want := DriverOf(o.snapshot)
	left, err := (&ledger{ctx: writing, db: o.stateDB, mirror: o.rows}).Load()
	if err != nil {
		return err
	}
	count := map[Driver]int{}
	for _, r := range left {
		count[made(r)]++
	}
	for other, n := range count {
		if other == want {
			continue
		}
		if err := o.clear(writing, other); err != nil {
			return fmt.Errorf("%d objects of the driver %s stand, and are to be removed first: %w", n, other, err)
		}
	}
	o.sw, o.engine, err = o.openBy(writing, want, count[want] == 0)
	if err != nil {
		return err
	}
	o.driver = want
	o.flows.adopt(o.engine.Flows, o.Now())
	if !o.mirrored { // the first time: rows that stand are of an earlier process
		shown, err := o.stateDB.Read(writing, telemetry.TableFlow)
		if err != nil {
			return err
		}
		o.streams.remember(shown)
		o.flows.recall(shown)
	}
	return nil
}

// openBy opens the switch by a driver, with an engine that knows what stands.
func (o *orch) openBy(writing context.Context, d Driver, cold bool) (Switch, *asic.Engine, error) {
	sw, err := o.Open(d, o.snapshot, cold)
	if err != nil {
		return nil, nil, err
	}
	if err := sw.SetPorts(Ports(o.snapshot)); err != nil {
		return nil, nil, errors.Join(err, sw.Close())
	}
	mine := func(r *asic.Record) bool { return made(r) == d }
	engine, err := asic.NewEngine(sw, &ledger{writing, o.stateDB, o.rows, mine}, o.Log)
	if err != nil {
		return nil, nil, errors.Join(err, sw.Close())
	}
	return sw, engine, nil
}

// clear removes what stands by a driver that is no longer wanted.
func (o *orch) clear(writing context.Context, d Driver) error {
	sw, engine, err := o.openBy(writing, d, false)
	if err != nil {
		return err
	}
	_, err = engine.Reconcile(asic.Policy{})
	return errors.Join(err, sw.Close())
}

// leave removes what stands, and closes the switch.
func (o *orch) leave(ctx context.Context, g *errgroup.Group) error {
	o.read(ctx, g, asic.Policy{})
	if _, err := o.engine.Reconcile(asic.Policy{}); err != nil {
		return err
	}
	err := o.sw.Close()
	o.sw, o.engine, o.driver = nil, nil, ""
	o.outcome, o.flows = asic.Outcome{Method: asic.None}, flowLog{}
	return err
}

// reopen closes the switch, which leaves what stands on it, and takes it over anew.
func (o *orch) reopen(ctx, writing context.Context, g *errgroup.Group) error {
	o.Log.Info("ports have come or gone: the switch is opened again")
	o.read(ctx, g, asic.Policy{})
	err := o.sw.Close()
	o.sw, o.engine, o.driver = nil, nil, ""
	return errors.Join(err, o.openSwitch(writing))
}

// look looks whether others have changed what stands, and reports whether there is
// something to be put right. What failed, and what SONiC is loading anew, is left
// to whoever waits for it.
func (o *orch) look() bool {
	if o.engine == nil || o.lastErr != nil || o.unloaded || o.settling {
		return false
	}
	if s, ok := o.sw.(interface{ PortsChanged() bool }); ok && s.PortsChanged() {
		return true
	}
	changed, err := o.engine.Look()
	if err != nil {
		o.note(err)
	} else if changed {
		o.Log.Info("others have changed what stands, or what the switch can do")
	}
	return changed || err != nil
}
