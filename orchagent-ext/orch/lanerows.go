// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"fmt"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/flowcontrol"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/telemetry"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// describeLane says what became of notifications.
func (o *orch) describeLane(s *status) {
	if !controls(o.snapshot) {
		return
	}
	l, state, reason := o.sw.lane, telemetry.Active, ""
	if o.sw.laneErr != nil {
		reason = firstLine(o.sw.laneErr)
		s.warn("notifications: " + reason)
		if l == nil || l.config == nil {
			state = telemetry.Failed
		}
	}
	for leaf, on := range map[string]bool{"pfcm": sendsPFCM(o.snapshot), "ppfc": usesPPFC(o.snapshot), "rate_advice": advises(o.snapshot)} {
		if on {
			o.fill(&s.State, leaf, state)
		}
		if on && reason != "" {
			o.fill(&s.State, leaf+"_reason", reason)
		}
	}
	if l == nil || l.config == nil {
		return
	}
	s.warn(laneWarnings(o.snapshot, l.config, l.neighbors.Ports())...)
	s.warn(l.Realtime())
	if r := l.report; r != nil {
		held := 0
		for _, h := range r.Holds {
			if !h.Ignored {
				held++
			}
		}
		s.Holds = telemetry.Small(held)
		if r.LastError != "" {
			s.warn("the switch refused a hold: " + r.LastError)
		}
	}
}

// count reads the fast lane's counters.
func (l *lane) count(fill fill) []ygot.GoStruct {
	if l == nil {
		return nil
	}
	before := l.report
	if l.report = l.Report(); l.report == nil {
		return nil
	}
	if n := l.report.Counters.Watchdog; before != nil && n > before.Counters.Watchdog {
		l.log.Warn("a neighbor held flows for too long without an end: they go on, and it is ignored about them", "times", n-before.Counters.Watchdog)
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
