// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"log/slog"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
)

// Switch is the open switch as entries need it.
type Switch struct {
	*engine.Engine
	Hardware Hardware
}

// Hardware is the ports and the ACL counters of a switch.
type Hardware interface {
	// PortName returns the name of a port by its number in frames; "": it is unknown.
	PortName(number uint64) string

	// Count returns the packets and octets that an ACL counter counted.
	Count(counter *engine.Record) (packets, octets uint64, err error)
}

// CountFlow reads the counter of a flow's entry. It returns [engine.ErrGone] where the flow has
// none.
func (s Switch) CountFlow(f engine.FlowEntry) (packets, octets uint64, err error) {
	r := s.FlowCounter(f)
	if r == nil {
		return 0, 0, engine.ErrGone
	}
	return s.Hardware.Count(r)
}

// Placement chooses the labels of flows.
type Placement interface {
	// Prepare is called before the others, with flows that may be new.
	Prepare(flows []packetio.NewFlow, now time.Time)

	// Place gives a new flow of the registry its label.
	Place(f *placer.Flow, now time.Time)
}

// logPause is the least time between two lines of the log about flows that lack an entry.
const logPause = time.Minute

// Add gives new flows entries, as far as they are admitted, with labels of placement.
func (l *Entries) Add(flows []packetio.NewFlow, sw Switch, p Placement, now time.Time) error {
	p.Prepare(flows, now)
	var admitted, evicted []engine.FlowEntry
	port := ""
	for _, n := range flows {
		f := engine.FlowEntry{Src: n.Src, Dst: n.Dst, DestQP: n.DestQP, Label: n.Label, SrcPort: n.SrcPort}
		ingress, egress := sw.Hardware.PortName(n.From), sw.Hardware.PortName(n.To)
		if is := l.seen[keyOf(f)]; is == nil {
			victim, admit := l.offer(ingress, n.Times, sw.CountFlow, now)
			if !admit {
				continue
			}
			if victim != nil {
				evicted = append(evicted, victim.FlowEntry)
				l.remove(victim.FlowEntry)
			}
			is = l.add(f, ingress, now)
			p.Place(&is.Flow, now)
			admitted, port = append(admitted, is.FlowEntry), ingress
		} else if is.SrcPort != f.SrcPort && f.SrcPort != 0 {
			is.SetSrcPort(f.SrcPort)
			if err := sw.SetSrcPort(is.FlowEntry); err != nil {
				return err
			}
		} else {
			is.Observe(egress)
		}
		l.move(f, ingress, egress)
	}
	if err := sw.RemoveFlows(evicted); err != nil {
		l.forget(sw.Engine, admitted)
		return err
	}
	refused, err := sw.AddFlows(admitted)
	if err != nil {
		l.forget(sw.Engine, admitted)
		return err
	}
	if refused > 0 {
		l.forget(sw.Engine, admitted[len(admitted)-refused:])
		l.full(refused, port, now)
	}
	return nil
}

// forget forgets the flows among some whose entries failed.
func (l *Entries) forget(e *engine.Engine, flows []engine.FlowEntry) {
	for _, f := range flows {
		if !e.Has(f) {
			l.remove(f)
		}
	}
}

// SetMethod takes the outcome of a reconciliation of the engine: whether there are entries at
// all, and whether the switch labels flows that lack one.
func (l *Entries) SetMethod(o *engine.Outcome) {
	if !o.Pins() {
		l.Clear()
	}
	l.computed = o.Method(engine.NeedFlowLabel) == engine.Compute
}

// Fit forgets the flows whose entries a change of the policy has removed, and removes those
// beyond the capacity.
func (l *Entries) Fit(capacity uint32, e *engine.Engine, now time.Time) error {
	for _, s := range l.seen {
		if !e.Has(s.FlowEntry) {
			l.remove(s.FlowEntry)
		}
	}
	l.capacity = int(capacity)
	return e.RemoveFlows(l.excess(now))
}

// LogRefused logs that flows lack an entry, once in logPause.
func (l *Entries) LogRefused(log *slog.Logger, now time.Time) {
	if w := l.Warning(now); w != "" && now.Sub(l.loggedAt) > logPause {
		l.loggedAt = now
		log.Warn(w, "refused", l.refusedCapacity+l.refusedSwitch, "evicted", l.evicted)
	}
}

// Refused returns how many times a flow was refused an entry, for want of capacity and by the
// switch, and how many flows have lost theirs to another.
func (l *Entries) Refused() (capacity, bySwitch, evicted uint64) {
	return l.refusedCapacity, l.refusedSwitch, l.evicted
}
