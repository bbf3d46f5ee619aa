// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// Describe adds the state of notifications, and warnings about them, to a report.
func (c *Control) Describe(report *status.Report, e *status.Encoder, s *Settings) {
	if !s.On() {
		return
	}
	r, state, reason := c.part.Worker(), telemetry.Active, ""
	if c.starting() {
		state = telemetry.Off
	}
	if c.err != nil {
		reason = task.FirstLine(c.err)
		report.Warn("notifications: " + reason)
		if r == nil || r.config == nil {
			state = telemetry.Failed
		}
	}
	for leaf, on := range map[string]bool{"pfcm": s.PFCM, "ppfc": s.PPFC, "rate_advice": s.Advice} {
		if on {
			e.Fill(&report.Row, leaf, state)
		}
		if on && reason != "" {
			e.Fill(&report.Row, leaf+"_reason", reason)
		}
	}
	if r == nil || r.config == nil {
		return
	}
	known, _ := r.neighbors.Ports()
	report.Warn(s.warnings(r.config, known)...)
	report.Warn(r.Realtime(), c.partial, c.trips.warning())
	if c.trips.inUse > 0 {
		report.Row.RttUs = telemetry.Small(int(c.trips.inUse.Microseconds()))
	}
	report.Warn(r.late...)
	if why := c.Unproven(); why != "" {
		report.Warn("flows that fill queues are estimated by readings that cannot be relied on: " + why)
	}
	if last := r.report; last != nil {
		for _, p := range last.Ignoring {
			report.Warn(fmt.Sprintf("the host %s ignores the CNPs for its flow to queue pair %d of %s: it gets some now and then, until it obeys", p.Src, p.DestQP, p.Dst))
		}
		held := 0
		for _, h := range last.Holds {
			if !h.Ignored {
				held++
			}
		}
		report.Row.Holds = telemetry.Small(held)
		if last.LastError != "" {
			report.Warn("the switch refused a hold: " + last.LastError)
		}
	}
}

// releasedEvery is the least time between two lines of the log about releases, ns: a hold that
// a neighbor refreshes for ever is released each second.
const releasedEvery = int64(time.Minute)

// releasedLog decides when the log names holds that were released by the limit. The zero
// value has logged nothing.
type releasedLog struct {
	logged uint64
	at     int64 // of the last line, ns; 0 before the first
}

// due returns how many were released since the last line, and whether a line of them is due
// now. total is the count since the start, now a time in ns that only increases.
func (r *releasedLog) due(total uint64, now int64) (n uint64, due bool) {
	if total <= r.logged || r.at != 0 && now-r.at < releasedEvery {
		return 0, false
	}
	n = total - r.logged
	r.logged, r.at = total, now
	return n, true
}

// Count reads the counters of the last report, and returns the rows of SLUICE_NOTIFY_STATS.
func (c *Control) Count(e *status.Encoder) []ygot.GoStruct {
	r := c.part.Worker()
	if r == nil {
		return nil
	}
	if r.report = r.Report(); r.report == nil {
		return nil
	}
	if n, due := r.released.due(r.report.Counters.Watchdog, r.report.At); due {
		r.log.Warn("hold limit reached: flows released, further holds of them by the neighbor ignored", "times", n)
	}
	counted := r.rows(e.Fill)
	c.earlier.add(counted)
	return counted
}

// rows returns the rows of SLUICE_NOTIFY_STATS of this task, by its last report.
func (r *running) rows(set fill) []ygot.GoStruct {
	n := notifications{
		report: r.report, bad: r.messages.Count, dropped: r.messages.Dropped, policed: r.messages.Policed, full: r.messages.Full(), solicited: r.neighbors.Solicited(),
	}
	if s, err := r.library.FlowStats(); err == nil { // else it does not count
		n.unmonitored, n.queueFull, n.queueLost, n.queueStale, n.queuePassed = s.Unmonitored, s.HoldQueueFull, s.HoldQueueLost, s.HoldQueueStale, s.HoldQueuePassed
	}
	return n.rows(set)
}

// finish adds the counters of a task that has ended to those of earlier tasks.
func (c *Control) finish(r *running) {
	if r.report = r.Report(); r.report == nil {
		return // it failed at once
	}
	counted := r.rows(func(s ygot.GoStruct, leaf, value string) {
		_ = rows.Set(s, leaf, value) // Count has logged an error of it
	})
	c.earlier.add(counted)
	c.earlier = totalsOf(counted)
}

// DepthRows returns the rows of SLUICE_DEPTH_STATS.
func (c *Control) DepthRows() (all []ygot.GoStruct) {
	for _, r := range c.watcher.Load().Readings() {
		row := &telemetry.DepthStats{Port: &r.Port, Queue: &r.Queue, Readings: &r.All, Useless: &r.Useless, Samples: &r.Samples, IntervalUs: ygot.Uint64(uint64(r.Interval.Microseconds()))}
		if r.At != 0 {
			row.AgeUs = ygot.Uint64(uint64(max(packetio.Monotonic()-r.At, 0) / int64(time.Microsecond)))
		}
		all = append(all, row)
	}
	return all
}

// HoldRows reads the last report, and returns the rows of SLUICE_HOLD.
func (c *Control) HoldRows(now status.Instant) []ygot.GoStruct {
	r := c.part.Worker()
	if r == nil {
		return nil
	}
	r.report = r.Report()
	return r.holdRows(now)
}

// holdRows returns the rows of SLUICE_HOLD by the last report.
func (r *running) holdRows(now status.Instant) []ygot.GoStruct {
	if r.report == nil {
		return nil
	}
	var all []ygot.GoStruct
	for i := range r.report.Holds {
		h := &r.report.Holds[i]
		port, did := fmt.Sprint(h.Index), holdCount{}
		if r.config.Source != nil {
			// the host holds it, and the switch counts none of its packets
		} else if h.Kind == notify.KindPPFC {
			port = "any"
			did.add(r.library.GetHold(sai.Null, h.Match))
		} else if p := r.port(h.Index); p != nil {
			port = p.Name
			for _, member := range p.Members {
				did.add(r.library.GetHold(member, h.Match))
			}
		}
		row := holdRow(h, port, now.Of(h.Since), now.Of(h.Until), did)
		if r.config.Source != nil {
			row.Method = telemetry.Text(string(engine.Source))
		}
		all = append(all, row)
	}
	return all
}

// known returns how a flow is known, by its number in events.
func (r *running) known(flow uint64) (k knowledge) {
	if r.estimates == nil {
		return knowledge{method: string(engine.Exact), confidence: 100}
	}
	e, _ := r.estimates.Estimated(flow)
	if e.Blind {
		return knowledge{method: "cnp"}
	}
	return knowledge{method: string(engine.Sampled), confidence: e.Confidence}
}

// port returns the port with an interface index; nil: none has it.
func (r *running) port(index uint32) *flowcontrol.Port {
	for i := range r.config.Ports {
		if p := &r.config.Ports[i]; p.Index == index {
			return p
		}
	}
	return nil
}

// FlowRows returns the rows of SLUICE_FLOW: those that are known, with the state of flows that
// are congested or held, and rows of congested flows besides.
func (c *Control) FlowRows(known []*telemetry.Flow, now status.Instant) []ygot.GoStruct {
	return c.part.Worker().flowRows(known, now)
}

// flowRows returns the rows of SLUICE_FLOW by the last report; r may be nil.
func (r *running) flowRows(known []*telemetry.Flow, now status.Instant) []ygot.GoStruct {
	all := make([]ygot.GoStruct, len(known))
	for i, f := range known {
		all[i] = f
	}
	if r == nil || r.report == nil {
		return all
	}
	at := map[string]*telemetry.Flow{}
	held := map[uint16]*string{} // since when, by Stream ID
	for _, h := range r.report.Holds {
		if !h.Ignored {
			held[h.Stream] = telemetry.FineStamp(now.Of(h.Since))
		}
	}
	for _, f := range known {
		at[*f.Id] = f
		if f.StreamId == nil {
			continue
		}
		if stamp, ok := held[*f.StreamId]; ok {
			rows.SetEnum(&f.State, "held")
			f.Since = stamp
		}
	}
	for i := range r.report.Flows {
		f := &r.report.Flows[i]
		if !f.Source.IsValid() {
			continue // the switch has yet to report its packets
		}
		key := fmt.Sprintf("%s,%s,%06x", f.Source, f.Destination, f.DestQP)
		row := at[key]
		if row == nil {
			row = &telemetry.Flow{Id: &key}
			at[key] = row
			all = append(all, row)
		}
		congested(f, now.Of(f.Since), r.known(f.Flow), row)
	}
	return all
}
