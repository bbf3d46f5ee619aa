// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"errors"
	"strings"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// publish writes the state to STATE_DB. Before the ledger was read nothing is
// written but what cannot harm it.
func (o *orch) publish(ctx context.Context) {
	s := telemetry.State{
		State: telemetry.Starting, Version: o.Version, Since: o.started,
		FlowLabel: telemetry.Inactive, Method: string(asic.None),
	}
	switch {
	case o.sw != nil:
		s.Driver = string(o.sw.driver)
	case o.snapshot != nil:
		s.Driver = string(DriverOf(o.snapshot))
	}
	if f := o.faults; f.last != nil {
		s.LastFault, s.LastFaultAt = firstLine(f.last), f.at
	}
	if o.lastErr != nil {
		s.LastError, s.LastErrorAt = firstLine(o.lastErr), o.errAt
	}
	if o.snapshot != nil {
		s.ConfigErrors = len(o.snapshot.Rejections)
		errs := make([]rows.Row, 0, len(o.snapshot.Rejections))
		for i := range o.snapshot.Rejections {
			r := &o.snapshot.Rejections[i]
			var good *rows.Row
			if row, ok := o.snapshot.LastGood[r.Table+"|"+r.Key]; ok {
				good = &row
			}
			errs = append(errs, telemetry.ConfigError(r, o.rejectedAt[r.Table+"|"+r.Key], good))
		}
		o.rows.Replace(telemetry.TableConfigError, errs)
	}
	if o.sw != nil {
		o.describe(&s)
	}
	if o.Warnings != nil {
		s.Warnings = append(s.Warnings, o.Warnings()...)
	}
	o.rows.Set(s.Row())
	if !o.mirrored {
		// A mirror deletes rows that were not set, the ledger's too: this one writes
		// the state alone.
		_ = o.stateDB.Write(ctx, set(s.Row()))
	}
}

// describe adds what an open switch has.
func (o *orch) describe(s *telemetry.State) {
	p := Policy(o.snapshot)
	s.Objects, s.Flows, s.Method = o.sw.engine.Len(), len(o.sw.flows.seen), string(o.sw.outcome.Method(asic.NeedFlowLabel))
	s.Warnings = warnings(o.snapshot, p, o.sw.outcome)
	for _, w := range []string{o.faults.warning(o.Now()), o.links.warning(o.Now()), o.keeper.warning(), o.configDB.Warning(), o.ledgerWarning} {
		if w != "" {
			s.Warnings = append(s.Warnings, w)
		}
	}
	if o.unloaded {
		s.Warnings = append(s.Warnings, noPorts)
	}
	if o.exportErr != nil {
		s.Warnings = append(s.Warnings, "nothing is exported: "+o.exportErr.Error())
	}
	if r := o.sw.reader; r != nil && r.Stats().Datagrams > 0 {
		s.Warnings = append(s.Warnings, "the method rewrite cannot match the source queue pair of datagrams (UD): all that go to one queue pair have one label, with source queue pair 0; compute tells them apart")
	}
	s.Warnings = append(s.Warnings, o.sw.Warnings()...)
	if w := o.sw.flows.warning(o.Now()); w != "" {
		s.Warnings = append(s.Warnings, w)
	}
	shown := o.sw.flows.heaviest()
	o.streams.show(shown, o.sw.flows.all)
	if name, why := o.streams.name(); name != "" {
		s.StreamIDs = name
		if why != nil {
			s.Warnings = append(s.Warnings, "stream ids: "+why.Error())
		}
	}
	o.describeLane(s)
	s.State = telemetry.Running
	switch {
	case o.lastErr != nil, len(s.Warnings) > 0:
		s.State = telemetry.Degraded
	case disabled(o.snapshot):
		s.State = telemetry.Disabled
	}
	switch {
	case p.Label == nil:
	case s.Method == string(asic.None):
		s.FlowLabel = telemetry.Failed
	case o.lastErr == nil:
		s.FlowLabel = telemetry.Active
	}
	o.rows.Set(o.sw.capability(o.laneErr == nil).Row())
	o.rows.Replace(telemetry.TableFlow, o.sw.lane.flows(o.sw.flows.rows(shown, o.streams.id), o.Now()))
	o.rows.Replace(telemetry.TableHold, o.sw.lane.holds(o.Now()))
}

// capability is what the switch can, and by which methods. controls says that the
// fast lane is as configured, if there is one.
func (s *opened) capability(controls bool) telemetry.Capability {
	c := telemetry.Capability{IPv4: ipv4(s.outcome.Method(asic.NeedFlowLabel)), Queues: s.outcome.Queues, NoQueues: s.outcome.NoQueues}
	for _, n := range asic.Needs() {
		is := s.outcome.Choices[n]
		if lane := n == asic.NeedThreshold || n == asic.NeedHold; lane && s.lane != nil && controls {
			is.State = asic.Active
		}
		c.Needs = append(c.Needs, telemetry.Need{Leaf: n.Leaf(), Method: string(is.Method), Reason: is.Reason, State: string(is.State)})
	}
	return c
}

// count reads the counters, and takes entries from flows that are idle.
func (o *orch) count() {
	if o.sw == nil {
		return
	}
	c := telemetry.Counters{Lost: o.sw.RingFull(), Policed: o.sw.Policed(), Cut: text.Cuts(), Faults: o.faults.count, Streams: o.streams.stats, At: o.Now()}
	if o.sw.reader != nil {
		c.CPU = o.sw.reader.Stats()
	}
	c.RefusedCapacity, c.RefusedSwitch, c.Evicted = o.sw.flows.refusedCapacity, o.sw.flows.refusedSwitch, o.sw.flows.evicted
	var errs []error
	for key, to := range map[string]*uint64{asic.CounterWritten: &c.Written, asic.CounterSkipped: &c.Skipped, asic.CounterCopied: &c.Copied} {
		if r := o.sw.engine.Record(key); r != nil {
			packets, _, err := o.sw.Count(r)
			*to = packets
			errs = append(errs, err)
		}
	}
	idle := o.sw.flows.look(o.sw.countFlow, o.Now())
	errs = append(errs, o.sw.engine.RemoveFlows(idle))
	c.Written += o.sw.flows.total
	o.counters.Set(c.Row())

	states, err := readLinks()
	errs = append(errs, err)
	o.links.note(states, o.snapshot, o.Now())
	var ports []rows.Row
	for _, p := range Ports(o.snapshot) {
		if s, err := o.sw.PortStats(p.Name); err == nil { // a port may be gone
			s.Oper = o.links.oper(p.Name)
			ports = append(ports, s.Row())
		}
	}
	o.counters.Replace(telemetry.TablePortStats, ports)

	var queues []rows.Row
	known, err := o.sw.Queues(sluicePorts(o.snapshot))
	errs = append(errs, err)
	for _, q := range known {
		queues = append(queues, q.Row())
	}
	o.counters.Replace(telemetry.TableQueueStats, queues)

	o.counters.Replace(telemetry.TableNotify, o.sw.lane.count())

	var collectors []rows.Row
	if o.exporting != nil {
		for _, c := range o.exporting.Stats() {
			collectors = append(collectors, telemetry.Collector(c))
		}
	}
	o.counters.Replace(telemetry.TableIPFIXStats, collectors)

	err = errors.Join(errs...)
	if err != nil && o.countErr == nil {
		o.Log.Warn("counters cannot be read", "error", err)
	}
	o.countErr = err
}

func set(r rows.Row) sonicdb.Change { return sonicdb.Change{Row: r} }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
