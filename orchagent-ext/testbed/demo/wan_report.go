// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"sluice/orchagent-ext/cli/chart"
)

// wanReport is the member wan of report.json.
type wanReport struct {
	// RunsN: of which the runs are the medians
	RunsN int `json:"runs_n"`
	// RTT is the round trip of the path, ms.
	RTT       float64 `json:"rtt_ms"`
	HighBytes uint64  `json:"high_bytes"` // high-water mark of a flow
	// Runs has the medians of each variant.
	Runs map[string]wanRun `json:"runs"`
	// PPFC: congestion → held a link away
	PPFC ppfcTimes `json:"ppfc_us"`

	trials map[string][]*trial
	each   map[string][]wanRun
}

// wanRun is the result of one run, or the median of several.
type wanRun struct {
	// Goodput: octets delivered ÷ what the slow egress can carry, after settling
	Goodput float64 `json:"goodput_ratio"`
	// Drops: packets, of all queues, from the start on
	Drops float64 `json:"drops"`
	// Deepest: of the slow egress, from the start on
	Deepest float64 `json:"deepest_bytes"`
	// QueueP99: of the slow egress, after settling
	QueueP99 float64 `json:"queue_p99_bytes"`
	// Settle: when the slow egress was below the mark for good
	Settle float64 `json:"settle_rtts"`
	Told   float64 `json:"messages"` // that reached the sender
}

// newWANReport returns a report without runs.
func newWANReport() *wanReport {
	return &wanReport{RTT: float64(wanRTT.Milliseconds()), HighBytes: wanHigh, Runs: map[string]wanRun{}, trials: map[string][]*trial{}, each: map[string][]wanRun{}}
}

// add adds a trial; the figures of a run are the medians of its trials.
func (r *wanReport) add(name string, t *trial) {
	r.trials[name] = append(r.trials[name], t)
	r.each[name] = append(r.each[name], t.wan())
	of := func(value func(wanRun) float64) float64 { return median(r.each[name], value) }
	r.Runs[name] = wanRun{
		Goodput: of(func(w wanRun) float64 { return w.Goodput }), Drops: of(func(w wanRun) float64 { return w.Drops }),
		Deepest: of(func(w wanRun) float64 { return w.Deepest }), QueueP99: of(func(w wanRun) float64 { return w.QueueP99 }),
		Settle: of(func(w wanRun) float64 { return w.Settle }), Told: of(func(w wanRun) float64 { return w.Told }),
	}
	r.RunsN = len(r.each[name])
}

// median of a value of runs.
func median[R any](runs []R, value func(R) float64) float64 {
	var list []float64
	for _, one := range runs {
		list = append(list, value(one))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// wan sums a run up.
func (t *trial) wan() wanRun {
	octets := goodput(t.received[0], wanQP, wanFlows, wanSettle, wanSpan)
	octets += 14 * octets / float64(packetOctets)
	w := wanRun{Goodput: octets * 8 / (slowMbps * 1e6 * (wanSpan - wanSettle).Seconds()), Drops: float64(t.dropped)}
	w.Told = float64(t.sent[0].Advice + t.sent[0].CNP)
	var settled []int64
	last := 0.0
	for _, s := range t.depths.samples[0] {
		w.Deepest = max(w.Deepest, float64(s.octets))
		if s.at >= wanSpan {
			break
		}
		if s.octets > wanHigh {
			last = s.at.Seconds()
		}
		if s.at >= wanSettle {
			settled = append(settled, int64(s.octets))
		}
	}
	slices.Sort(settled)
	w.QueueP99 = percentile(settled, 0.99)
	w.Settle = last / wanRTT.Seconds()
	return w
}

// write adds to report.json and writes wan.svg.
func (r *wanReport) write(folder string) error {
	if err := merge(folder, map[string]any{"wan": r}); err != nil {
		return err
	}
	var courses []chart.Course
	for _, name := range wanRuns {
		t, w := r.trials[name][0], r.each[name][0]
		courses = append(courses, chart.Course{
			Title: name,
			Note:  fmt.Sprintf("%.0f %% of the egress, %.0f packets dropped, deepest queue %.0f kB", 100*w.Goodput, w.Drops, w.Deepest/1000),
			Plots: []chart.Plot{
				{Title: "goodput, Mbit/s", Lines: []chart.Line{rates("first flow", t.received[0], wanQP, 1, wanSpan), rates("second flow", t.received[0], wanQP+1, 1, wanSpan)}},
				{Title: "slow egress queue, kB", Lines: []chart.Line{t.depths.line(0)}},
			},
		})
	}
	var svg bytes.Buffer
	if err := chart.Timelines(&svg, "Two senders over 20 ms round trip to a slow egress", (wanSpan + drain).Seconds(), courses); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "wan.svg"), svg.Bytes(), 0o644)
}

// print shows the runs as a table.
func (r *wanReport) print(w io.Writer) error {
	fmt.Fprintf(w, "\n%d flows of %d Mbit/s over %.0f ms round trip to an egress of %d Mbit/s; high-water mark %d kB a flow\n\n", wanFlows, wanMbps, r.RTT, slowMbps, r.HighBytes/1000)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "run\tgoodput\tdropped\tdeepest queue\tqueue p99 settled\tsettled after\tmessages\t")
	for _, name := range wanRuns {
		x := r.Runs[name]
		fmt.Fprintf(table, "%s\t%.1f %%\t%.0f\t%.0f kB\t%.0f kB\t%.0f RTT\t%.0f\t\n", name, 100*x.Goodput, x.Drops, x.Deepest/1000, x.QueueP99/1000, x.Settle, x.Told)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, `
cnp: the timers of DCQCN are of 55 µs, so that senders are at full rate again before the next CNP can come, a round trip
of %.0f ms later: the queue overflows. ppfc: gateway 1 holds flows and slows no sender, so that packets always wait there and
fill the queue again after each hold. rate_advice: senders keep the rate that they were given.
`, r.RTT)
	fmt.Fprint(w, "\nPPFC from gateway 2 to gateway 1:\n\n")
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "µs\tp50\tp99\tp99.9\tmax\tn\t")
	for _, l := range []struct {
		name string
		of   latency
	}{{"mark passed → PPFC sent", r.PPFC.Reaction}, {"PPFC on the link", r.PPFC.Link}, {"PPFC received → held", r.PPFC.Enforce}} {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t\n", l.name, l.of.P50, l.of.P99, l.of.P999, l.of.Max, l.of.N)
	}
	fmt.Fprintf(table, "congestion → held, sum\t%.0f\t%.0f\t\t\t\t\n", r.PPFC.Reaction.P50+r.PPFC.Link.P50+r.PPFC.Enforce.P50, r.PPFC.P99)
	return table.Flush()
}

// judge returns an error for each figure that misses its bar, of those that hold
// on a busy machine, too.
func (r *wanReport) judge() error {
	var errs []error
	for _, name := range []string{wanCNP, wanAdvice, wanPPFC, wanNear} {
		if r.Runs[name].Told == 0 {
			errs = append(errs, fmt.Errorf("run %s: no message reached the sender", name))
		}
	}
	if r.PPFC.Reaction.N == 0 || r.PPFC.Link.N == 0 || r.PPFC.Enforce.N == 0 {
		errs = append(errs, errors.New("no PPFC was measured from congestion to hold"))
	}
	return errors.Join(errs...)
}
