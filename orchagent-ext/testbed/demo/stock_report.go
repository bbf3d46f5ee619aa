// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// stockReport is the member stock of report.json.
type stockReport struct {
	Stock stockFigures `json:"stock"`

	full bool // medians of three, and all loads
}

// stockFigures are the figures of the scenario as JSON: max ÷ mean by family, and the
// times of a link's failure and of a restart.
type stockFigures struct {
	Placement map[string]*stockRun `json:"placement"` // by v4 and v6
	// LinkDownMS is the time from a link's failure to the last lost packet, ms.
	LinkDownMS float64 `json:"link_down_ms"`
	// RestartS is the time from the start after kill -9 until the rules are in order, s.
	RestartS float64 `json:"restart_s"`
}

// stockRun has the results of one address family. Figures are max ÷ mean of the octets
// of uplinks.
type stockRun struct {
	// Hash is max ÷ mean of the uplinks with the hash alone.
	Hash      float64 `json:"hash"`
	Placed10k float64 `json:"placed_10k"` // from 2 s to 4 s, 10,000 samples a second
	Placed1k  float64 `json:"placed_1k"`  // from 5 s to 7 s, 1000 samples a second
	// Rules is the number of entries on the switch.
	Rules int     `json:"rules"`
	Zipf  float64 `json:"zipf"`  // from 3 s to 4 s
	Floor float64 `json:"floor"` // of Zipf: least of all placements

	// Of flows that pause, and move only then.
	IdleLost int64 `json:"idle_lost"`
	// IdleReordered counts packets out of order while only idle flows move.
	IdleReordered int64   `json:"idle_reordered"`
	IdleEven      float64 `json:"idle_even"`
}

// medianRun has the median of each figure; of packets that came to harm the most.
func medianRun(runs []*stockRun) *stockRun {
	of := func(figure func(*stockRun) float64) float64 { return median(runs, figure) }
	m := &stockRun{
		Hash: of(func(r *stockRun) float64 { return r.Hash }), Placed10k: of(func(r *stockRun) float64 { return r.Placed10k }),
		Placed1k: of(func(r *stockRun) float64 { return r.Placed1k }), Rules: int(of(func(r *stockRun) float64 { return float64(r.Rules) })),
		Zipf: of(func(r *stockRun) float64 { return r.Zipf }), Floor: runs[0].Floor, IdleEven: of(func(r *stockRun) float64 { return r.IdleEven }),
	}
	for _, r := range runs {
		m.IdleLost, m.IdleReordered = max(m.IdleLost, r.IdleLost), max(m.IdleReordered, r.IdleReordered)
	}
	return m
}

// write adds the figures to the JSON report in the folder.
func (r *stockReport) write(folder string) error { return merge(folder, r) }

// print writes the figures as a table; those of --full only after a full run.
func (r *stockReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%d queue pairs with a source port each over %d uplinks, octets of the uplinks' own counters (method redirect)\n\n", stockFlows, stockUplinks)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\tby hash\tplaced\trules\tZipf\tfloor\n")
	for _, v := range slices.Sorted(maps.Keys(r.Stock.Placement)) {
		p := r.Stock.Placement[v]
		fmt.Fprintf(t, "IP%s\t%.2f\t%.3f\t%d\t%.3f\t%.3f\n", v, p.Hash, p.Placed10k, p.Rules, p.Zipf, p.Floor)
		if r.full {
			fmt.Fprintf(t, "  1000 samples a second\t\t%.3f\n  moves=idle\t\t%.3f\tlost %d\treordered %d\n", p.Placed1k, p.IdleEven, p.IdleLost, p.IdleReordered)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nlink down, 8 rules  last loss after %.0f ms\nkill -9             rules in order %.2f s after the next start\n", r.Stock.LinkDownMS, r.Stock.RestartS)
	return err
}

// judge returns an error that names each figure beyond its bar, or nil.
func (r *stockReport) judge() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for v, p := range r.Stock.Placement {
		check(p.Placed10k < p.Hash, "IP%s: max ÷ mean is %.3f placed and %.3f by hash", v, p.Placed10k, p.Hash)
		check(p.Rules > 0 && p.Rules <= 16, "IP%s: %d rules", v, p.Rules)
		if !r.full { // a single short run, on a machine that may be busy
			continue
		}
		check(p.Placed10k <= 1.10, "IP%s: max ÷ mean is %.3f with 10,000 samples a second: want at most 1.10", v, p.Placed10k)
		check(p.Placed1k <= 1.20, "IP%s: max ÷ mean is %.3f with 1000 samples a second: want at most 1.20", v, p.Placed1k)
		check(p.Rules <= 12, "IP%s: %d rules: want at most 12", v, p.Rules)
		check(p.Zipf <= 1.05*p.Floor, "IP%s, Zipf: max ÷ mean is %.3f: want at most 1.05 × %.3f", v, p.Zipf, p.Floor)
		check(p.IdleLost == 0 && p.IdleReordered == 0, "IP%s, moves=idle: %d packets lost, %d reordered", v, p.IdleLost, p.IdleReordered)
	}
	check(!r.full || r.Stock.LinkDownMS <= 200, "link down: the last packet is lost after %.0f ms: want at most 200", r.Stock.LinkDownMS)
	check(!r.full || r.Stock.RestartS <= 2, "rules are in order %.2f s after a restart: want at most 2", r.Stock.RestartS)
	return errors.Join(errs...)
}
