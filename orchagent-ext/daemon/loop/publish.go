// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/desired"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/text"
)

// publish writes the state to STATE_DB. Before the ledger was read it writes only rows
// that leave the ledger whole.
func (o *orch) publish(ctx context.Context) {
	s := status.Report{State: telemetry.Starting, FlowLabel: telemetry.Inactive}
	s.Row.Version, s.Row.Since, s.Row.FlowLabelMethod = &o.conf.Version, telemetry.Stamp(o.started), telemetry.Text(string(engine.None))
	s.Row.Objects, s.Row.Flows, s.Row.Holds, s.Row.ConfigErrors = telemetry.Small(0), telemetry.Small(0), telemetry.Small(0), telemetry.Small(0)
	for _, name := range []string{"pfcm", "ppfc", "rate_advice", "placement"} {
		o.out.encoder.Fill(&s.Row, name, telemetry.Off)
	}
	switch {
	case o.sw != nil:
		s.Row.Driver = telemetry.Text(string(o.sw.driver))
	case o.settings() != nil:
		s.Row.Driver = telemetry.Text(string(o.settings().Driver))
	}
	if f := o.faults; f.Last != nil {
		s.Row.LastFault, s.Row.LastFaultTime = telemetry.Text(task.FirstLine(f.Last)), telemetry.Stamp(f.At)
	}
	if o.failed.err != nil {
		s.Row.LastError, s.Row.LastErrorTime = telemetry.Text(task.FirstLine(o.failed.err)), telemetry.Stamp(o.failed.at)
	}
	if o.settings() != nil {
		s.Row.ConfigErrors = telemetry.Small(o.desired.Rejected())
		o.out.change(telemetry.TableConfigError, o.desired.Rejections())
	}
	if o.sw != nil {
		o.describe(&s)
	}
	if o.conf.Warnings != nil {
		s.Warn(o.conf.Warnings()...)
	}
	o.out.report(ctx, &s)
}

// describe adds the rows of an open switch.
func (o *orch) describe(s *status.Report) {
	want := o.settings()
	method := o.sw.outcome.Method(engine.NeedFlowLabel)
	s.Row.Objects, s.Row.Flows, s.Row.FlowLabelMethod = telemetry.Small(o.sw.engine.Len()), telemetry.Small(o.entries.Len()), telemetry.Text(string(method))
	s.Warn(want.Warnings(&o.sw.outcome)...)
	s.Warn(o.faults.Warning(o.conf.Now()), o.statistics.Report().Warning, o.desired.Warning(), o.configDB.Warning(), o.routes.Warning())
	s.Warn(o.ledger.Warnings()...)
	if o.desired.Phase().Unloaded() {
		s.Warn(desired.NoPorts)
	}
	o.path.Describe(s)
	s.Warn(o.sw.Warnings()...)
	s.Warn(o.sw.audit.Warnings()...)
	objects, rules := o.sw.engine.Losses(), o.placement.Losses()
	s.Warn(objects.Warnings()...)
	s.Warn(rules.Warnings...)
	s.Row.Drift = telemetry.Text(strings.Join(slices.Concat(o.sw.audit.Texts(), objects.Texts(), rules.Texts), "; "))
	s.Warn(o.entries.Warning(o.conf.Now()))
	shown := o.entries.Heaviest()
	o.streams.Show(shown, o.entries.All)
	o.streams.Describe(s)
	o.sw.control.Describe(s, &o.out.encoder, &want.Control)
	o.placement.Describe(s, &o.out.encoder, o.out.state, want.Placement.On, &o.sw.outcome)
	s.Judge(want.Disabled, o.failed.err, o.sw.engine.Len())
	switch {
	case want.Policy.Label == nil:
	case method == engine.None:
		s.FlowLabel = telemetry.Failed
	case o.failed.err == nil && o.sw.outcome.Choices[engine.NeedFlowLabel].State == engine.Active:
		s.FlowLabel = telemetry.Active
	case o.failed.err == nil:
		s.FlowLabel = telemetry.Unproven
	}
	o.out.setState(o.capability())
	now := instant(o.conf.Now())
	flows := o.entries.Rows(shown, o.streams.ID)
	flows = o.path.Health(flows, o.sw.PortName)
	o.out.replaceState(telemetry.TableFlow, o.sw.control.FlowRows(flows, now))
	o.out.replaceState(telemetry.TableHost, o.sw.control.HostRows())
	o.out.replaceState(telemetry.TableHold, o.sw.control.HoldRows(now))
}

// instant is now, by both clocks.
func instant(wall time.Time) status.Instant {
	return status.Instant{Wall: wall, Monotonic: packetio.Monotonic()}
}

// capability returns the abilities of the switch, with the methods in use.
func (o *orch) capability() *telemetry.Capability {
	outcome := &o.sw.outcome
	c := &telemetry.Capability{FlowLabelIpv4: telemetry.Text(ipv4(outcome.Method(engine.NeedFlowLabel))), QueuesReason: telemetry.Text(outcome.NoQueues)}
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
			o.out.encoder.Fill(c, n.Leaf()+what, value)
		}
	}
	return c
}

// ipv4 returns how RoCEv2 over IPv4 is treated, which lacks a flow label.
func ipv4(m engine.Method) string {
	if m == engine.Hash || m == engine.UDFHash {
		return "spread by the hash of the destination queue pair"
	}
	return "not spread: IPv4 has no flow label"
}

// publishCounters reads the counters, and takes entries from flows that are idle.
func (o *orch) publishCounters() {
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
	errs = append(errs, o.entries.Expire(o.sw.forEntries(), o.conf.Now))
	o.out.setCounters(o.stats(counted[engine.CounterWritten]+o.entries.Packets(), counted[engine.CounterSkipped], counted[engine.CounterCopied]))
	o.out.replaceCounters(telemetry.TableDepthStats, o.sw.control.DepthRows())
	o.out.replaceCounters(telemetry.TableNotify, o.sw.control.Count(&o.out.encoder))

	o.out.replaceCounters(telemetry.TableTurnStats, status.TurnRows(o.sw.Turns))
	o.out.replaceCounters(telemetry.TableIPFIXStats, o.path.Collectors())
	o.out.counted(errors.Join(errs...), o.conf.Log)
}

// stats are the counters of the daemon. Skipped packets show as a share, too: it reveals
// stacks that label on their own.
func (o *orch) stats(written, skipped, copied uint64) *telemetry.Stats {
	share, lost := 0.0, o.sw.Lost()
	if all := written + skipped; all > 0 {
		share = math.Round(1000*float64(skipped)/float64(all)) / 10
	}
	cpu, trips := o.path.Stats(), o.path.RoundTrips()
	ids := o.streams.Counts()
	noCapacity, noRoom, evicted := o.entries.Refused()
	driftFound, driftMended := o.sw.audit.Counts()
	objectsLost, objectsPut := o.sw.engine.Losses().Counts()
	rules := o.placement.Losses()
	driftFound, driftMended = driftFound+objectsLost+rules.Found, driftMended+objectsPut+rules.Put
	return &telemetry.Stats{
		ReadTime: telemetry.FineStamp(o.conf.Now()), LabelSkippedPercent: &share,
		LabelWritten: &written, LabelSkipped: &skipped, CpuCopied: &copied, CpuRingFull: &lost.RingFull, CpuPoliced: &lost.Policed, CpuDiscarded: lost.Discarded,
		CpuRoce: &cpu.RoCE, CpuTunnelled: &cpu.Tunnelled, CpuNotRoce: &cpu.NotRoCE, CpuMalformed: &cpu.Malformed, CpuQueueFull: &cpu.QueueFull,
		CpuNewFlows: &cpu.NewFlows, CpuFlows: &cpu.FlowsKnown, CpuSeenOnce: &cpu.SeenOnce, CpuUnfollowed: &cpu.Unfollowed, CpuDatagrams: &cpu.Datagrams, CpuSamplesFull: &cpu.SamplesFull,
		RttSamples: &trips.Taken, RttRefused: telemetry.Count(trips.Short + trips.Long), RttRepeated: &trips.Repeated, RttUnfollowed: &trips.Full,
		FlowsWithoutEntry: telemetry.Count(noCapacity + noRoom), FlowsRefusedCapacity: &noCapacity, FlowsRefusedSwitch: &noRoom, FlowsEvicted: &evicted,
		DriftFound: &driftFound, DriftMended: &driftMended,
		LoopFaults: telemetry.Count(o.faults.Count), TextsTruncated: telemetry.Count(text.Cuts()),
		StreamIdFlows: &ids.Flows, StreamIdWaiting: &ids.Waiting, StreamIdConflicts: &ids.Conflicts,
		StreamIdAllocated: &ids.Allocated, StreamIdChanged: &ids.Changed, StreamIdFailed: &ids.Failed, StreamIdLeasesLost: &ids.LeasesLost,
	}
}
