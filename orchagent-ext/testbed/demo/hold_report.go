// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
)

// holdReport is the member hold of report.json.
type holdReport struct {
	// RunsN: of which the runs are the medians
	RunsN int `json:"runs_n"`
	// QueueBytes is the length of queues, octets.
	QueueBytes uint64 `json:"queue_bytes"`
	// Hops: links on which PFCM went up in the run pfcm
	Hops int `json:"hops"`
	// Runs has the medians of each variant.
	Runs map[string]holdRun `json:"runs"`
	latencies
	// Without: the same without real-time priority
	Without *latencies `json:"without_realtime,omitempty"`

	trials map[string][]*trial
	each   map[string][]holdRun
}

// holdRun is the result of one run, or the median of several.
type holdRun struct {
	VictimGoodput float64 `json:"victim_goodput_ratio"` // ÷ victims alone
	// VictimP99: from the offer to the arrival
	VictimP99 float64 `json:"victim_p99_us"`
	// ElephantGoodput: ÷ what the slow egress can carry
	ElephantGoodput float64 `json:"elephant_goodput_ratio"`
	// HeldLost: packets of elephants that no queue says it dropped
	HeldLost float64 `json:"held_lost"`
	// Drops: packets, of all queues
	Drops float64 `json:"drops"`
	// Deepest is the peak of the congested queue, octets.
	Deepest float64 `json:"deepest_bytes"`
	// Messages: PFCM and PFC frames on the links
	Messages float64 `json:"messages"`
}

// latencies are the latencies that the switches' flow control measured.
type latencies struct {
	// Load: of this machine, load average of the last minute
	Load     float64 `json:"load"`
	Reaction latency `json:"reaction_us"` // at the core
	// Enforce: at the aggregation, as the next
	Enforce latency `json:"enforce_us"`
	Release latency `json:"release_error_us"` // of holds that expired
}

// latency is a distribution in µs.
type latency struct {
	// P50 and the following are in µs.
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
	// N is the number of measurements.
	N int `json:"n"`
}

// newHoldReport returns a report without runs.
func newHoldReport() *holdReport {
	return &holdReport{QueueBytes: queueBytes, Runs: map[string]holdRun{}, trials: map[string][]*trial{}, each: map[string][]holdRun{}}
}

// add adds a run, and the victims' result alone.
func (r *holdReport) add(name string, t, alone *trial) {
	r.trials[name] = append(r.trials[name], t)
	r.each[name] = append(r.each[name], t.summary(alone))
	all := r.each[name]
	of := func(value func(holdRun) float64) float64 { return median(all, value) }
	r.Runs[name] = holdRun{
		VictimGoodput:   of(func(h holdRun) float64 { return h.VictimGoodput }),
		VictimP99:       of(func(h holdRun) float64 { return h.VictimP99 }),
		ElephantGoodput: of(func(h holdRun) float64 { return h.ElephantGoodput }),
		HeldLost:        of(func(h holdRun) float64 { return h.HeldLost }),
		Drops:           of(func(h holdRun) float64 { return h.Drops }),
		Deepest:         of(func(h holdRun) float64 { return h.Deepest }),
		Messages:        of(func(h holdRun) float64 { return h.Messages }),
	}
	r.RunsN = len(all)
	if name == runPFCM {
		r.Hops = max(r.Hops, t.hops())
	}
}

// summary returns the figures of a trial. alone is the trial without elephants, in
// relation to which the victims' goodput is given; delays are in µs, rates are shares of
// the slow egress.
func (t *trial) summary(alone *trial) holdRun {
	elephantOctets := goodput(t.received[0], elephantQP, elephants, holdSettle, holdSpan)
	// the queue sends Ethernet headers, too
	elephantOctets += 14 * elephantOctets / float64(packetOctets)
	lost := float64(undelivered(&t.sent[0], t.received[0], elephantQP, elephants)) - float64(t.dropped)
	h := holdRun{
		VictimGoodput:   goodput(t.received[1], victimQP, victims, holdSettle, holdSpan) / goodput(alone.received[1], victimQP, victims, holdSettle, holdSpan),
		VictimP99:       percentile(delays(t.received[1], victimQP, victims), 0.99) / 1000,
		ElephantGoodput: elephantOctets * 8 / (slowMbps * 1e6 * (holdSpan - holdSettle).Seconds()),
		HeldLost:        max(lost, 0),
		Drops:           float64(t.dropped),
		Deepest:         float64(t.depths.deepest),
		Messages:        float64(len(t.arrivals) + t.frames),
	}
	return h
}

// hops is the number of links on which a PFCM went up.
func (t *trial) hops() int {
	links := map[int]bool{}
	for _, h := range t.arrivals {
		if h.kind == notify.KindPFCM {
			links[h.link] = true
		}
	}
	return len(links)
}

// goodput is the octets of flows that arrived between two times.
func goodput(r *nic.Receiver, first uint32, n int, from, to time.Duration) (sum float64) {
	for _, qp := range qps(first, n) {
		for i, octets := range r.Flows[qp].Bins {
			if at := time.Duration(i) * plotBin; at >= from && at < to {
				sum += float64(octets)
			}
		}
	}
	return sum
}

// packetOctets is the size of every IP packet of the scenario.
var packetOctets = func() int { f := nic.Flow{Payload: holdPayload}; return f.Octets() }()

// undelivered returns how many packets that were sent are missing at the
// receiver.
func undelivered(sent *nic.Counters, r *nic.Receiver, first uint32, n int) uint64 {
	arrived := uint64(0)
	for _, qp := range qps(first, n) {
		arrived += r.Flows[qp].Packets
	}
	return sent.Packets - min(arrived, sent.Packets)
}

// delays returns the latencies of n queue pairs from first on, in ns, sorted.
func delays(r *nic.Receiver, first uint32, n int) (all []int64) {
	for _, qp := range qps(first, n) {
		all = append(all, r.Flows[qp].Latency...)
	}
	slices.Sort(all)
	return all
}

// percentile returns the percentile p, 0 to 1, of sorted numbers; 0 for an empty
// list.
func percentile(sorted []int64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(p*float64(len(sorted)-1))])
}

// measured reads the latencies that the switches' flow control measured.
func (n *chain) measured(ctx context.Context) (l latencies, err error) {
	clock.Sleep(ctx, 2*countEvery)
	load, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		l.Load, err = strconv.ParseFloat(strings.Fields(string(load))[0], 64)
	}
	if err != nil {
		return l, fmt.Errorf("read this machine's load: %w", err)
	}
	for _, part := range []struct {
		to    *latency
		from  *plane
		field string
	}{{&l.Reaction, n.planes[2], "reaction_us"}, {&l.Enforce, n.planes[1], "enforce_us"}, {&l.Release, n.planes[1], "release_error_us"}} {
		if err := part.to.read(ctx, part.from, "pfcm", part.field); err != nil {
			return l, err
		}
	}
	return l, nil
}

// write adds to report.json and writes hold.svg.
func (r *holdReport) write(folder string) error {
	if err := merge(folder, map[string]any{"hold": r}); err != nil {
		return err
	}
	return r.plot(filepath.Join(folder, "hold.svg"))
}

// print shows the runs as a table.
func (r *holdReport) print(w io.Writer) error {
	fmt.Fprintf(w, "\n%d elephants of %d Mbit/s to an egress of %d Mbit/s, %d victims of %d Mbit/s to another one, of one priority\n\n",
		elephants, elephantMbps, slowMbps, victims, victimMbps)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "run\tvictims\ttheir p99\telephants\tlost in holds\tdropped\tdeepest queue\tmessages\t")
	for _, name := range holdRuns {
		h := r.Runs[name]
		fmt.Fprintf(table, "%s\t%.1f %%\t%.1f ms\t%.1f %%\t%.0f\t%.0f\t%.0f kB\t%.0f\t\n", name,
			100*h.VictimGoodput, h.VictimP99/1000, 100*h.ElephantGoodput, h.HeldLost, h.Drops, h.Deepest/1000, h.Messages)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nvictims: goodput ÷ that without elephants; elephants: ÷ what their egress carries\nPFCM went up %d links\n", r.Hops)
	if err := r.latencies.print(w, ""); err != nil || r.Without == nil {
		return err
	}
	return r.Without.print(w, ", without real-time priority")
}

// print writes the quantiles of the three delays of flow control in µs: from the mark to
// the PFCM, from the PFCM to the hold, and of the release after its time.
func (l *latencies) print(w io.Writer, how string) error {
	fmt.Fprintf(w, "\nlatencies at load %.1f%s\n", l.Load, how)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "µs\tp50\tp99\tp99.9\tmax\tn\t")
	for _, one := range []struct {
		name string
		of   latency
	}{{"mark passed → PFCM sent", l.Reaction}, {"PFCM received → held", l.Enforce}, {"release late by", l.Release}} {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t\n", one.name, one.of.P50, one.of.P99, one.of.P999, one.of.Max, one.of.N)
	}
	return table.Flush()
}

// judge returns an error for each figure that misses its bar, of those that hold
// on a busy machine, too.
func (r *holdReport) judge() error {
	var errs []error
	p := r.Runs[runPFCM]
	if r.Hops < 2 {
		errs = append(errs, fmt.Errorf("PFCM went up %d links: want 2 or more", r.Hops))
	}
	if p.Messages == 0 {
		errs = append(errs, errors.New("no PFCM was sent"))
	}
	return errors.Join(errs...)
}
