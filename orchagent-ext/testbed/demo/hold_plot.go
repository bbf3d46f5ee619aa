// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"sluice/orchagent-ext/cli/chart"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
)

// plot writes the course of the first run of each kind.
func (r *holdReport) plot(path string) error {
	var courses []chart.Course
	for _, name := range holdRuns {
		if r.trials[name] == nil {
			continue
		}
		t, h := r.trials[name][0], r.each[name][0]
		c := chart.Course{
			Title: holdNames[name],
			Note:  h.caption(),
			Plots: []chart.Plot{
				{Title: "goodput, Mbit/s", Lines: []chart.Line{rates("victims", t.received[1], victimQP, victims, holdSpan), rates("elephants", t.received[0], elephantQP, elephants, holdSpan)}},
				{Title: "slow egress queue, kB", Lines: []chart.Line{t.depths.line(slowPort)}},
			},
		}
		c.Plots = append(c.Plots, chart.Plot{Title: "held, by", Spans: t.spans()})
		courses = append(courses, c)
	}
	var svg bytes.Buffer
	if err := chart.Timelines(&svg, r.headline(), (holdSpan + drain).Seconds(), courses); err != nil {
		return err
	}
	return os.WriteFile(path, svg.Bytes(), 0o644)
}

// holdNames are the variants as the picture has them.
var holdNames = map[string]string{
	runNone: "No flow control", runPFC: "PFC: the whole priority is paused",
	runPFCM: "PFCM: the flow that fills the queue is held", runToPFC: "PFCM, and PFC to the sender",
}

// headline is the title of the picture: the latency of the victims, of 99 packets in 100, with PFC
// and with holds. Neither drops.
func (r *holdReport) headline() string {
	before, after := r.Runs[runPFC], r.Runs[runPFCM]
	if r.RunsN == 0 || before.VictimP99 == 0 || after.VictimP99 == 0 {
		return "One priority, elephants to a slow egress, victims to a fast one"
	}
	return fmt.Sprintf("Victims of an elephant: p99 %.1f ms with PFC → %.1f ms with holds", before.VictimP99/1000, after.VictimP99/1000)
}

// caption is the result of a run in words: goodput of victims beside that without elephants, and of
// elephants beside what their egress carries.
func (h *holdRun) caption() string {
	return fmt.Sprintf("victims: p99 %.1f ms, goodput %.0f %%; elephants: %.0f %%; %.0f drops",
		h.VictimP99/1000, 100*h.VictimGoodput, 100*h.ElephantGoodput, h.Drops)
}

// rates returns the sum of the goodput of n queue pairs from first on, in Mbit/s by time
// bins of plotBin.
func rates(name string, r *nic.Receiver, first uint32, n int, span time.Duration) chart.Line {
	sums := make([]float64, (span+drain)/plotBin)
	for _, qp := range qps(first, n) {
		for i, octets := range r.Flows[qp].Bins {
			if i < len(sums) {
				sums[i] += float64(octets*8) / 1e6 / plotBin.Seconds()
			}
		}
	}
	l := chart.Line{Name: name}
	for i, v := range sums {
		l.Points = append(l.Points, chart.Point{Seconds: (time.Duration(i) * plotBin).Seconds(), Value: v})
	}
	return l
}

// slowPort is the place of the slow egress among the ports of all switches.
const slowPort = 3 + 2 + 1

// line returns the samples of one port's queue, in kB.
func (d *depths) line(port int) chart.Line {
	l := chart.Line{Name: "depth"}
	for _, s := range d.samples[port] {
		l.Points = append(l.Points, chart.Point{Seconds: s.at.Seconds(), Value: float64(s.octets) / 1000})
	}
	return l
}

// linkNames are the switches at whose links notifications are recorded, from the
// congested egress upstream.
var linkNames = []string{"core", "aggregation", "edge", "edge"}

// spans are the times in which notifications on each link asked to wait.
func (t *trial) spans() (list []chart.Spans) {
	for link, name := range linkNames[:3] {
		s := chart.Spans{Name: name}
		open := map[uint16]chart.Span{}
		closeAt := func(stream uint16, at float64) {
			if one, ok := open[stream]; ok {
				s.Of = append(s.Of, chart.Span{From: one.From, To: min(one.To, at)})
				delete(open, stream)
			}
		}
		for _, h := range t.arrivals {
			at := h.at.Seconds()
			if h.kind != notify.KindPFCM || h.link != link {
				continue
			}
			until := at + float64(h.us)/1e6
			if one, ok := open[h.stream]; ok && h.action.Type() == notify.PauseFlow && h.us > 0 && at <= one.To {
				open[h.stream] = chart.Span{From: one.From, To: until}
				continue
			}
			closeAt(h.stream, at)
			if h.action.Type() == notify.PauseFlow && h.us > 0 {
				open[h.stream] = chart.Span{From: at, To: until}
			}
		}
		for _, one := range open {
			s.Of = append(s.Of, one)
		}
		list = append(list, s)
	}
	return list
}
