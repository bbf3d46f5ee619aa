// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"math"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/desired"
	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/text"
)

// publish writes the state to STATE_DB. Before the ledger was read it writes only rows
// that leave the ledger whole.
func (o *orch) publish(ctx context.Context) {
	s := status.Report{State: telemetry.Starting, FlowLabel: telemetry.Inactive}
	s.Row.Version, s.Row.Since, s.Row.FlowLabelMethod = &o.Version, telemetry.Stamp(o.started), telemetry.Text(string(engine.None))
	s.Row.Objects, s.Row.Flows, s.Row.Holds, s.Row.ConfigErrors = telemetry.Small(0), telemetry.Small(0), telemetry.Small(0), telemetry.Small(0)
	for _, name := range []string{"pfcm", "ppfc", "rate_advice", "placement"} {
		o.encoder.Fill(&s.Row, name, telemetry.Off)
	}
	switch {
	case o.sw != nil:
		s.Row.Driver = telemetry.Text(string(o.sw.driver))
	case o.snapshot() != nil:
		s.Row.Driver = telemetry.Text(string(policy.DriverOf(o.snapshot())))
	}
	if f := o.faults; f.Last != nil {
		s.Row.LastFault, s.Row.LastFaultTime = telemetry.Text(task.FirstLine(f.Last)), telemetry.Stamp(f.At)
	}
	if o.lastErr != nil {
		s.Row.LastError, s.Row.LastErrorTime = telemetry.Text(task.FirstLine(o.lastErr)), telemetry.Stamp(o.errAt)
	}
	if o.snapshot() != nil {
		s.Row.ConfigErrors = telemetry.Small(len(o.snapshot().Rejections))
		o.rows.Replace(telemetry.TableConfigError, o.encoder.Encode(o.desired.Rejections()...))
	}
	if o.sw != nil {
		o.describe(&s)
	}
	if o.Warnings != nil {
		s.Warn(o.Warnings()...)
	}
	for _, row := range s.Encode(&o.encoder) {
		o.rows.Set(row)
		if !o.mirrored {
			// A mirror deletes rows that were not set, the ledger's too: this one writes
			// the state alone.
			_ = o.stateDB.Write(ctx, sonicdb.Change{Row: row})
		}
	}
}

// describe adds the rows of an open switch.
func (o *orch) describe(s *status.Report) {
	p := policy.Of(o.snapshot())
	method := o.sw.outcome.Method(engine.NeedFlowLabel)
	s.Row.Objects, s.Row.Flows, s.Row.FlowLabelMethod = telemetry.Small(o.sw.engine.Len()), telemetry.Small(o.entries.Len()), telemetry.Text(string(method))
	s.Warn(policy.Warnings(o.snapshot(), p, o.sw.outcome)...)
	s.Warn(o.faults.Warning(o.Now()), o.statistics.Warning(), o.desired.Warning(), o.configDB.Warning(), o.routes.Warning())
	s.Warn(o.ledger.Warnings()...)
	if o.desired.Phase().Unloaded() {
		s.Warn(desired.NoPorts)
	}
	o.path.Describe(s)
	s.Warn(o.sw.Warnings()...)
	s.Warn(o.entries.Warning(o.Now()))
	shown := o.entries.Heaviest()
	o.streams.Show(shown, o.entries.All)
	o.streams.Describe(s)
	o.sw.control.Describe(s, &o.encoder, o.snapshot())
	o.placement.Describe(s, &o.encoder, o.rows, o.placementSettings())
	s.Judge(policy.Disabled(o.snapshot()), o.lastErr, o.sw.engine.Len())
	switch {
	case p.Label == nil:
	case method == engine.None:
		s.FlowLabel = telemetry.Failed
	case o.lastErr == nil && o.sw.outcome.Choices[engine.NeedFlowLabel].State == engine.Active:
		s.FlowLabel = telemetry.Active
	case o.lastErr == nil:
		s.FlowLabel = telemetry.Unproven
	}
	for _, row := range o.encoder.Encode(o.capability()) {
		o.rows.Set(row)
	}
	now := status.Instant{Wall: o.Now(), Monotonic: packetio.Monotonic()}
	flows := o.entries.Rows(shown, o.streams.ID)
	flows = o.path.Health(flows, o.sw.PortName)
	o.rows.Replace(telemetry.TableFlow, o.encoder.Encode(o.sw.control.FlowRows(flows, now)...))
	o.rows.Replace(telemetry.TableHost, o.encoder.Encode(o.sw.control.HostRows()...))
	o.rows.Replace(telemetry.TableHold, o.encoder.Encode(o.sw.control.HoldRows(now)...))
}

// capability returns the abilities of the switch, with the methods in use.
func (o *orch) capability() *telemetry.Capability {
	outcome := &o.sw.outcome
	c := &telemetry.Capability{FlowLabelIpv4: telemetry.Text(policy.IPv4(outcome.Method(engine.NeedFlowLabel))), QueuesReason: telemetry.Text(outcome.NoQueues)}
	if outcome.Queues != 0 || outcome.NoQueues != "" {
		c.Queues = &outcome.Queues
	}
	for n, is := range outcome.Choices {
		if (n == engine.NeedThreshold || n == engine.NeedHold) && is.Method != engine.None && o.sw.control.Active() {
			is.State = engine.Active
		}
		if why := o.sw.control.Unproven(); n == engine.NeedThreshold && why != "" {
			is.State, is.Reason = engine.Unproven, "unproven: "+why
		}
		for what, value := range map[string]string{"_method": string(is.Method), "_reason": is.Reason, "_state": string(is.State)} {
			o.encoder.Fill(c, n.Leaf()+what, value)
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
	for _, key := range []string{engine.CounterWritten, engine.CounterSkipped, engine.CounterCopied} {
		if r := o.sw.engine.Record(key); r != nil {
			packets, _, err := o.sw.Count(r)
			counted[key] = packets
			errs = append(errs, err)
		}
	}
	errs = append(errs, o.entries.Expire(o.sw.forEntries(), o.Now))
	for _, row := range o.encoder.Encode(o.stats(counted[engine.CounterWritten]+o.entries.Packets(), counted[engine.CounterSkipped], counted[engine.CounterCopied])) {
		o.counters.Set(row)
	}

	o.counters.Replace(telemetry.TableDepthStats, o.encoder.Encode(o.sw.control.DepthRows()...))
	o.counters.Replace(telemetry.TableNotify, o.encoder.Encode(o.sw.control.Count(&o.encoder)...))

	o.counters.Replace(telemetry.TableTurnStats, o.encoder.Encode(status.TurnRows(o.sw.Turns)...))
	o.counters.Replace(telemetry.TableIPFIXStats, o.encoder.Encode(o.path.Collectors()...))

	err := errors.Join(errs...)
	if err != nil && o.countErr == nil {
		o.Log.Warn("counters cannot be read", "error", err)
	}
	o.countErr = err
}

// stats are the counters of the daemon. Skipped packets show as a share, too: it reveals
// stacks that label on their own.
func (o *orch) stats(written, skipped, copied uint64) *telemetry.Stats {
	share, lost, policed := 0.0, o.sw.RingFull(), o.sw.Policed()
	if all := written + skipped; all > 0 {
		share = math.Round(1000*float64(skipped)/float64(all)) / 10
	}
	cpu, trips := o.path.Stats(), o.path.RoundTrips()
	ids := o.streams.Counts()
	noCapacity, noRoom, evicted := o.entries.Refused()
	return &telemetry.Stats{
		ReadTime: telemetry.FineStamp(o.Now()), LabelSkippedPercent: &share,
		LabelWritten: &written, LabelSkipped: &skipped, CpuCopied: &copied, CpuRingFull: &lost, CpuPoliced: &policed, CpuDiscarded: o.sw.CPUDiscards(),
		CpuRoce: &cpu.RoCE, CpuTunnelled: &cpu.Tunnelled, CpuNotRoce: &cpu.NotRoCE, CpuMalformed: &cpu.Malformed, CpuQueueFull: &cpu.QueueFull,
		CpuNewFlows: &cpu.NewFlows, CpuFlows: &cpu.FlowsKnown, CpuSeenOnce: &cpu.SeenOnce, CpuUnfollowed: &cpu.Unfollowed, CpuSamplesFull: &cpu.SamplesFull,
		RttSamples: &trips.Taken, RttRefused: telemetry.Count(trips.Short + trips.Long), RttRepeated: &trips.Repeated, RttUnfollowed: &trips.Full,
		FlowsWithoutEntry: telemetry.Count(noCapacity + noRoom), FlowsRefusedCapacity: &noCapacity, FlowsRefusedSwitch: &noRoom, FlowsEvicted: &evicted,
		LoopFaults: telemetry.Count(o.faults.Count), TextsTruncated: telemetry.Count(text.Cuts()),
		StreamIdFlows: &ids.Flows, StreamIdWaiting: &ids.Waiting, StreamIdConflicts: &ids.Conflicts,
		StreamIdAllocated: &ids.Allocated, StreamIdChanged: &ids.Changed, StreamIdFailed: &ids.Failed, StreamIdLeasesLost: &ids.LeasesLost,
	}
}
