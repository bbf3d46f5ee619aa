// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/flowcontrol"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/telemetry"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// describeLane says what became of notifications.
func (o *orch) describeLane(s *telemetry.State) {
	if !controls(o.snapshot) {
		return
	}
	l, state, reason := o.sw.lane, telemetry.Active, ""
	if o.laneErr != nil {
		reason = firstLine(o.laneErr)
		s.Warnings = append(s.Warnings, "notifications: "+reason)
		if l == nil || l.config == nil {
			state = telemetry.Failed
		}
	}
	for _, f := range []struct {
		on     bool
		to, as *string
	}{{sendsPFCM(o.snapshot), &s.PFCM, &s.PFCMReason}, {usesPPFC(o.snapshot), &s.PPFC, &s.PPFCReason}, {advises(o.snapshot), &s.RateAdvice, &s.RateAdviceReason}} {
		if f.on {
			*f.to, *f.as = state, reason
		}
	}
	if l == nil || l.config == nil {
		return
	}
	s.Warnings = append(s.Warnings, laneWarnings(o.snapshot, l.config, l.neighbors.Ports())...)
	if why := l.Realtime(); why != "" {
		s.Warnings = append(s.Warnings, why)
	}
	if r := l.report; r != nil {
		for _, h := range r.Holds {
			if !h.Ignored {
				s.Holds++
			}
		}
		if r.LastError != "" {
			s.Warnings = append(s.Warnings, "the switch refused a hold: "+r.LastError)
		}
	}
}

// count reads the fast lane's counters.
func (l *lane) count() []rows.Row {
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
	n := telemetry.Notifications{
		Lane: l.report, Bad: l.messages.Count, Dropped: l.messages.Dropped, Full: l.messages.Full(), Solicited: l.neighbors.Solicited(),
	}
	if s, err := l.library.FlowStats(); err == nil { // else it does not count
		n.Unmonitored, n.LaneFull, n.LaneLost = s.Unmonitored, s.LaneFull, s.LaneLost
	}
	return n.Rows()
}

// holds are the rows of what is held.
func (l *lane) holds(now time.Time) []rows.Row {
	if l == nil || l.report == nil {
		return nil
	}
	at := func(ns int64) time.Time { return now.Add(time.Duration(ns - l.report.At)) }
	var all []rows.Row
	for _, h := range l.report.Holds {
		row := telemetry.Hold{Hold: h, PortName: fmt.Sprint(h.Index), Since: at(h.Since), Until: at(h.Until)}
		if h.Kind == notify.KindPPFC {
			row.PortName = "any"
			row.Add(l.library.GetHold(sai.Null, h.Match))
		} else if p := l.port(h.Index); p != nil {
			row.PortName = p.Name
			for _, member := range p.Members {
				row.Add(l.library.GetHold(member, h.Match))
			}
		}
		all = append(all, row.Row())
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
func (l *lane) flows(all []rows.Row, now time.Time) []rows.Row {
	if l == nil || l.report == nil {
		return all
	}
	at := map[string]int{}
	held := map[string]string{} // since when, by Stream ID
	for _, h := range l.report.Holds {
		if !h.Ignored {
			held[fmt.Sprint(h.Stream)] = telemetry.Stamp(now.Add(time.Duration(h.Since - l.report.At)))
		}
	}
	for i, r := range all {
		at[r.Key] = i
		if since, ok := held[r.Fields["stream_id"]]; ok {
			r.Fields["state"], r.Fields["since"] = "held", since
		}
	}
	for i := range l.report.Flows {
		f := &l.report.Flows[i]
		if !f.Source.IsValid() {
			continue // the switch has not told what it is
		}
		key := fmt.Sprintf("%s,%s,%06x", f.Source, f.Destination, f.DestQP)
		n, ok := at[key]
		if !ok {
			n = len(all)
			at[key] = n
			all = append(all, rows.Row{Table: telemetry.TableFlow, Key: key, Fields: map[string]string{}})
		}
		telemetry.Congested(f, now.Add(time.Duration(f.Since-l.report.At)), all[n].Fields)
	}
	return all
}
