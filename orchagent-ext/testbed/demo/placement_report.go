// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// placementReport is the member placement of report.json.
type placementReport struct {
	Placement  map[string]*placementRun `json:"placement"`
	Unlabelled float64                  `json:"placement_unlabelled_worst_over_mean"`

	order  []phase
	method string
	lost   int64
	full   bool // times count
}

// placementRun is the result of one load.
type placementRun struct {
	// WorstOverMean: of octets by the uplinks' counters, in the last second
	WorstOverMean float64 `json:"worst_over_mean"`
	// HashWorstOverMean: with the labels of the hash
	HashWorstOverMean float64 `json:"hash_worst_over_mean"`
	// Floor: no placement is below
	Floor float64 `json:"floor"`
	// Moves counts the flows that got another label.
	Moves int `json:"moves"`
	// Seconds: until it stayed below the bar
	Seconds float64 `json:"seconds"`
	// After: while the load stayed as it was
	After int `json:"moves_after,omitempty"`
}

// write adds the figures to the JSON report in the folder.
func (r *placementReport) write(folder string) error { return merge(folder, r) }

// print writes the figures as a table, max ÷ mean of the uplinks' octets for each load.
func (r *placementReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%d queue pairs of one host pair over %d uplinks, octets of the uplinks' own counters (method %s)\n\n", placedFlows, uplinks, r.method)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "load\tno label\tby hash\tplaced\tfloor\tmoves\teven after\n")
	for _, ph := range r.order {
		run, none := r.Placement[ph.name], ""
		if ph.name == "equal" {
			none = fmt.Sprintf("%.2f", r.Unlabelled)
		}
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.3f\t%.2f\t%d\t%.1f s\n", ph.name, none, run.HashWorstOverMean, run.WorstOverMean, run.Floor, run.Moves, run.Seconds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, ph := range r.order {
		if run := r.Placement[ph.name]; run.WorstOverMean > ph.most {
			fmt.Fprintf(w, "\n%s: max ÷ mean is %.3f, the limit %.2f\n", ph.name, run.WorstOverMean, ph.most)
		}
	}
	_, err := fmt.Fprintf(w, "\nlost    %d\n", r.lost)
	return err
}

// judge returns an error that names each figure beyond its bar, or nil.
func (r *placementReport) judge() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, ph := range r.order {
		run := r.Placement[ph.name]
		most := ph.most
		if !r.full { // a single short run, on a machine that may be busy
			most = max(most, run.HashWorstOverMean)
		}
		check(run.WorstOverMean > 0 && run.WorstOverMean <= most, "%s: max ÷ mean is %.3f: want at most %.2f", ph.name, run.WorstOverMean, most)
		check(ph.moves < 0 || run.Moves <= ph.moves, "%s: %d moves: want at most %d", ph.name, run.Moves, ph.moves)
		check(!r.full || run.Seconds <= phaseLimit.Seconds(), "%s: max ÷ mean is above %.2f for %.1f s: want at most %v", ph.name, ph.most, run.Seconds, phaseLimit)
		check(run.After == 0, "%s: %d flows moved while the load stayed as it was", ph.name, run.After)
	}
	return errors.Join(errs...)
}
