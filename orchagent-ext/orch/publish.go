// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// status is SLUICE_STATE|global while it is put together.
type status struct {
	telemetry.State
	state     string
	flowLabel string
	warnings  []string
}

func (s *status) warn(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s.warnings = append(s.warnings, text)
		}
	}
}

// publish writes the state to STATE_DB. Before the ledger was read nothing is
// written but what cannot harm it.
func (o *orch) publish(ctx context.Context) {
	s := status{state: telemetry.Starting, flowLabel: telemetry.Inactive}
	s.Version, s.Since, s.FlowLabelMethod = &o.Version, telemetry.Stamp(o.started), telemetry.Text(string(asic.None))
	s.Objects, s.Flows, s.Holds, s.ConfigErrors = telemetry.Small(0), telemetry.Small(0), telemetry.Small(0), telemetry.Small(0)
	for _, name := range []string{"pfcm", "ppfc", "rate_advice", "placement"} {
		o.fill(&s.State, name, telemetry.Off)
	}
	switch {
	case o.sw != nil:
		s.Driver = telemetry.Text(string(o.sw.driver))
	case o.snapshot != nil:
		s.Driver = telemetry.Text(string(DriverOf(o.snapshot)))
	}
	if f := o.faults; f.last != nil {
		s.LastFault, s.LastFaultTime = telemetry.Text(firstLine(f.last)), telemetry.Stamp(f.at)
	}
	if o.lastErr != nil {
		s.LastError, s.LastErrorTime = telemetry.Text(firstLine(o.lastErr)), telemetry.Stamp(o.errAt)
	}
	if o.snapshot != nil {
		s.ConfigErrors = telemetry.Small(len(o.snapshot.Rejections))
		o.rows.Replace(telemetry.TableConfigError, o.encode(o.rejections()...))
	}
	if o.sw != nil {
		o.describe(&s)
	}
	if o.Warnings != nil {
		s.warn(o.Warnings()...)
	}
	s.Warnings = telemetry.Text(strings.Join(s.warnings, "; "))
	rows.SetEnum(&s.State.State, s.state)
	rows.SetEnum(&s.FlowLabel, s.flowLabel)
	for _, row := range o.encode(&s.State) {
		o.rows.Set(row)
		if !o.mirrored {
			// A mirror deletes rows that were not set, the ledger's too: this one writes
			// the state alone.
			_ = o.stateDB.Write(ctx, set(row))
		}
	}
}

// rejections are the rows of CONFIG_DB that are not in force.
func (o *orch) rejections() []ygot.GoStruct {
	var all []ygot.GoStruct
	for i := range o.snapshot.Rejections {
		r := &o.snapshot.Rejections[i]
		var good *rows.Row
		if row, ok := o.snapshot.LastGood[r.Table+"|"+r.Key]; ok {
			good = &row
		}
		all = append(all, telemetry.ConfigError(r, o.rejectedAt[r.Table+"|"+r.Key], good))
	}
	return all
}

// encode makes rows of structs of the state model. One that no row can hold, as a name
// has a separator, is left out, and logged.
func (o *orch) encode(all ...ygot.GoStruct) []rows.Row {
	encoded := make([]rows.Row, 0, len(all))
	for _, s := range all {
		row, err := rows.Encode(s)
		if err != nil {
			o.unwritten(err)
			continue
		}
		encoded = append(encoded, row)
	}
	return encoded
}

// fill sets a leaf by its name.
func (o *orch) fill(s ygot.GoStruct, leaf, value string) {
	if err := rows.Set(s, leaf, value); err != nil {
		o.unwritten(err)
	}
}

// unwritten logs what is in no row, once while it stays.
func (o *orch) unwritten(err error) {
	if o.encodeErr == nil || o.encodeErr.Error() != err.Error() {
		o.Log.Warn("a row cannot be written", "error", err)
	}
	o.encodeErr = err
}

// describe adds what an open switch has.
func (o *orch) describe(s *status) {
	p := Policy(o.snapshot)
	method := o.sw.outcome.Method(asic.NeedFlowLabel)
	s.Objects, s.Flows, s.FlowLabelMethod = telemetry.Small(o.sw.engine.Len()), telemetry.Small(len(o.sw.flows.seen)), telemetry.Text(string(method))
	s.warn(warnings(o.snapshot, p, o.sw.outcome)...)
	s.warn(o.faults.warning(o.Now()), o.links.warning(o.Now()), o.keeper.warning(), o.copy.warning(), o.configDB.Warning(), o.ledgerWarning, o.hops.warning)
	if o.unloaded {
		s.warn(noPorts)
	}
	if o.exportErr != nil {
		s.warn("nothing is exported: " + o.exportErr.Error())
	}
	if r := o.sw.reader; r != nil && r.Stats().Datagrams > 0 {
		s.warn("the method rewrite cannot match the source queue pair of datagrams (UD): all that go to one queue pair have one label, with source queue pair 0; compute tells them apart")
	}
	s.warn(o.sw.Warnings()...)
	s.warn(o.sw.flows.warning(o.Now()))
	shown := o.sw.flows.heaviest()
	o.streams.show(shown, o.sw.flows.all)
	if name, why := o.streams.name(); name != "" {
		rows.SetEnum(&s.StreamIds, name)
		if why != nil {
			s.warn("stream ids: " + why.Error())
		}
	}
	o.describeLane(s)
	o.describePlacement(s)
	s.state = telemetry.Running
	switch {
	case o.lastErr != nil, len(s.warnings) > 0:
		s.state = telemetry.Degraded
	case disabled(o.snapshot):
		s.state = telemetry.Disabled
	}
	switch {
	case p.Label == nil:
	case method == asic.None:
		s.flowLabel = telemetry.Failed
	case o.lastErr == nil && o.sw.outcome.Choices[asic.NeedFlowLabel].State == asic.Active:
		s.flowLabel = telemetry.Active
	case o.lastErr == nil:
		s.flowLabel = telemetry.Unproven
	}
	for _, row := range o.encode(o.capability()) {
		o.rows.Set(row)
	}
	flows := o.sw.flows.rows(shown, o.streams.id)
	o.sw.place.describe(flows, shown)
	flows = o.sw.reader.health(flows, o.sw.PortName)
	o.rows.Replace(telemetry.TableFlow, o.encode(o.sw.lane.flows(flows, o.Now())...))
	o.rows.Replace(telemetry.TableHold, o.encode(o.sw.lane.holds(o.Now())...))
}

// capability is what the switch can, and by which methods.
func (o *orch) capability() *telemetry.Capability {
	outcome := &o.sw.outcome
	c := &telemetry.Capability{FlowLabelIpv4: telemetry.Text(ipv4(outcome.Method(asic.NeedFlowLabel))), QueuesReason: telemetry.Text(outcome.NoQueues)}
	if outcome.Queues != 0 || outcome.NoQueues != "" {
		c.Queues = &outcome.Queues
	}
	for n, is := range outcome.Choices {
		if lane := n == asic.NeedThreshold || n == asic.NeedHold; lane && o.sw.lane != nil && o.sw.laneErr == nil {
			is.State = asic.Active
		}
		for what, value := range map[string]string{"_method": string(is.Method), "_reason": is.Reason, "_state": string(is.State)} {
			o.fill(c, n.Leaf()+what, value)
		}
	}
	return c
}

// count reads the counters, and takes entries from flows that are idle.
func (o *orch) count() {
	if o.sw == nil {
		return
	}
	var errs []error
	counted := map[string]uint64{}
	for _, key := range []string{asic.CounterWritten, asic.CounterSkipped, asic.CounterCopied} {
		if r := o.sw.engine.Record(key); r != nil {
			packets, _, err := o.sw.Count(r)
			counted[key] = packets
			errs = append(errs, err)
		}
	}
	idle := o.sw.flows.look(o.sw.countFlow, o.Now())
	errs = append(errs, o.sw.engine.RemoveFlows(idle))
	for _, row := range o.encode(o.stats(counted[asic.CounterWritten]+o.sw.flows.total, counted[asic.CounterSkipped], counted[asic.CounterCopied])) {
		o.counters.Set(row)
	}

	states, err := readLinks()
	errs = append(errs, err)
	o.links.note(states, o.snapshot, o.Now())
	var ports, queues, collectors []ygot.GoStruct
	resolved := o.snapshot.Resolve()
	for _, p := range Ports(o.snapshot) {
		if s, err := o.sw.PortStats(p.Name); err == nil { // a port may be gone
			rows.SetEnum(&s.OperStatus, o.links.oper(p.Name))
			setRole(&s.Role, o.snapshot, resolved, p.Name)
			ports = append(ports, s)
		}
	}
	o.counters.Replace(telemetry.TablePortStats, o.encode(ports...))

	known, err := o.sw.Queues(sluicePorts(o.snapshot))
	errs = append(errs, err)
	for _, q := range known {
		queues = append(queues, q)
	}
	o.counters.Replace(telemetry.TableQueueStats, o.encode(queues...))

	o.counters.Replace(telemetry.TableNotify, o.encode(o.sw.lane.count(o.fill)...))

	if o.exporting != nil {
		for _, c := range o.exporting.Stats() {
			collectors = append(collectors, &telemetry.IPFIXStats{
				Collector: &c.Name, Connected: &c.Connected, Records: &c.Records, Messages: &c.Messages, Bytes: &c.Octets,
				Waiting: telemetry.Count(c.Waiting), Dropped: &c.Dropped, Connects: &c.Connects, Refused: &c.Refused, LastError: telemetry.Text(c.Error),
			})
		}
	}
	o.counters.Replace(telemetry.TableIPFIXStats, o.encode(collectors...))

	err = errors.Join(errs...)
	if err != nil && o.countErr == nil {
		o.Log.Warn("counters cannot be read", "error", err)
	}
	o.countErr = err
}

// stats are the counters of the daemon. What was skipped shows as share, too: stacks
// that label on their own would go unnoticed otherwise.
func (o *orch) stats(written, skipped, copied uint64) *telemetry.Stats {
	share, lost, policed := 0.0, o.sw.RingFull(), o.sw.Policed()
	if all := written + skipped; all > 0 {
		share = math.Round(1000*float64(skipped)/float64(all)) / 10
	}
	var cpu packetio.Stats
	if o.sw.reader != nil {
		cpu = o.sw.reader.Stats()
	}
	f, ids := &o.sw.flows, o.streams.stats
	refused, evicted := [2]uint64{f.refusedCapacity, f.refusedSwitch}, f.evicted
	return &telemetry.Stats{
		ReadTime: telemetry.FineStamp(o.Now()), LabelSkippedPercent: &share,
		LabelWritten: &written, LabelSkipped: &skipped, CpuCopied: &copied, CpuRingFull: &lost, CpuPoliced: &policed, CpuDiscarded: o.sw.CPUDiscards(),
		CpuRoce: &cpu.RoCE, CpuTunnelled: &cpu.Tunnelled, CpuNotRoce: &cpu.NotRoCE, CpuMalformed: &cpu.Malformed, CpuQueueFull: &cpu.QueueFull,
		CpuNewFlows: &cpu.NewFlows, CpuFlows: &cpu.FlowsKnown, CpuSeenOnce: &cpu.SeenOnce, CpuUnfollowed: &cpu.Unfollowed,
		FlowsWithoutEntry: telemetry.Count(refused[0] + refused[1]), FlowsRefusedCapacity: &refused[0], FlowsRefusedSwitch: &refused[1], FlowsEvicted: &evicted,
		LoopFaults: telemetry.Count(o.faults.count), TextsCut: telemetry.Count(text.Cuts()),
		StreamIdFlows: &ids.Flows, StreamIdWaiting: &ids.Waiting, StreamIdConflicts: &ids.Conflicts,
		StreamIdAllocated: &ids.Allocated, StreamIdChanged: &ids.Changed, StreamIdFailed: &ids.Failed, StreamIdLeasesLost: &ids.LeasesLost,
	}
}

func set(r rows.Row) sonicdb.Change { return sonicdb.Change{Row: r} }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
