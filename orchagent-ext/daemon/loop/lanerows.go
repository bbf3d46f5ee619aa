// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// describeLane says what became of notifications.
func (o *orch) describeLane(s *status.Report) {
	if !policy.Controls(o.snapshot) {
		return
	}
	l, state, reason := o.sw.lane, telemetry.Active, ""
	if o.sw.laneErr != nil {
		reason = task.FirstLine(o.sw.laneErr)
		s.Warn("notifications: " + reason)
		if l == nil || l.config == nil {
			state = telemetry.Failed
		}
	}
	for leaf, on := range map[string]bool{"pfcm": policy.SendsPFCM(o.snapshot), "ppfc": policy.UsesPPFC(o.snapshot), "rate_advice": policy.Advises(o.snapshot)} {
		if on {
			o.encoder.Fill(&s.Row, leaf, state)
		}
		if on && reason != "" {
			o.encoder.Fill(&s.Row, leaf+"_reason", reason)
		}
	}
	if l == nil || l.config == nil {
		return
	}
	s.Warn(laneWarnings(o.snapshot, l.config, l.neighbors.Ports())...)
	s.Warn(l.Realtime())
	if r := l.report; r != nil {
		held := 0
		for _, h := range r.Holds {
			if !h.Ignored {
				held++
			}
		}
		s.Row.Holds = telemetry.Small(held)
		if r.LastError != "" {
			s.Warn("the switch refused a hold: " + r.LastError)
		}
	}
}

// releasedEvery is how often the log names releases, ns: a hold that a neighbor refreshes
// for ever is released each second.
const releasedEvery = int64(time.Minute)

// releasedLog decides when the log names holds that were released by the limit. The zero
// value has logged none.
type releasedLog struct {
	logged uint64
	at     int64 // of the last line, ns; 0: there was none
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

// count reads the fast lane's counters.
func (l *lane) count(fill fill) []ygot.GoStruct {
	if l == nil {
		return nil
	}
	if l.report = l.Report(); l.report == nil {
		return nil
	}
	if n, due := l.released.due(l.report.Counters.Watchdog, l.report.At); due {
		l.log.Warn("a neighbor held flows for too long without an end: they go on, and it is ignored about them", "times", n)
	}
	n := notifications{
		lane: l.report, bad: l.messages.Count, dropped: l.messages.Dropped, full: l.messages.Full(), solicited: l.neighbors.Solicited(),
	}
	if s, err := l.library.FlowStats(); err == nil { // else it does not count
		n.unmonitored, n.laneFull, n.laneLost = s.Unmonitored, s.LaneFull, s.LaneLost
	}
	return n.rows(fill)
}

// holds are the rows of what is held.
func (l *lane) holds(now time.Time) []ygot.GoStruct {
	if l == nil || l.report == nil {
		return nil
	}
	at := func(ns int64) time.Time { return now.Add(time.Duration(ns - l.report.At)) }
	var all []ygot.GoStruct
	for i := range l.report.Holds {
		h := &l.report.Holds[i]
		port, did := fmt.Sprint(h.Index), holdCount{}
		if h.Kind == notify.KindPPFC {
			port = "any"
			did.add(l.library.GetHold(sai.Null, h.Match))
		} else if p := l.port(h.Index); p != nil {
			port = p.Name
			for _, member := range p.Members {
				did.add(l.library.GetHold(member, h.Match))
			}
		}
		all = append(all, holdRow(h, port, at(h.Since), at(h.Until), did))
	}
	return all
}

func (l *lane) port(index uint32) *flowcontrol.Port {
	for i := range l.config.Ports {
		if p := &l.config.Ports[i]; p.Index == index {
			return p
		}
	}
	return nil
}

// flows adds to the rows of flows what is known of those that are congested or held.
func (l *lane) flows(known []*telemetry.Flow, now time.Time) []ygot.GoStruct {
	all := make([]ygot.GoStruct, len(known))
	for i, f := range known {
		all[i] = f
	}
	if l == nil || l.report == nil {
		return all
	}
	at := map[string]*telemetry.Flow{}
	held := map[uint16]*string{} // since when, by Stream ID
	for _, h := range l.report.Holds {
		if !h.Ignored {
			held[h.Stream] = telemetry.FineStamp(now.Add(time.Duration(h.Since - l.report.At)))
		}
	}
	for _, f := range known {
		at[*f.Id] = f
		if f.StreamId == nil {
			continue
		}
		if since, ok := held[*f.StreamId]; ok {
			rows.SetEnum(&f.State, "held")
			f.Since = since
		}
	}
	for i := range l.report.Flows {
		f := &l.report.Flows[i]
		if !f.Source.IsValid() {
			continue // the switch has not told what it is
		}
		key := fmt.Sprintf("%s,%s,%06x", f.Source, f.Destination, f.DestQP)
		row := at[key]
		if row == nil {
			row = &telemetry.Flow{Id: &key}
			at[key] = row
			all = append(all, row)
		}
		congested(f, now.Add(time.Duration(f.Since-l.report.At)), row)
	}
	return all
}
