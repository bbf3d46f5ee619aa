// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// pathRun is one run of the part "wan", or the medians of several.
type pathRun struct {
	Goodput float64 `json:"goodput"` // octets delivered ÷ capacity of the egress, after settling
	Drops   float64 `json:"drops"`   // packets, of all queues, from the start on
	Deepest float64 `json:"deepest_bytes"`
	Advice  float64 `json:"advice"` // messages that reached the sender
	// Samples of the egress a second: packets that were sent to it ÷ the sampling rate
	Samples float64 `json:"samples_per_s,omitempty"`
}

// pathFigures are the figures of the part "wan" with a number of flows, by method sampled.
type pathFigures struct {
	pathRun
	OverExact float64 `json:"deepest_over_exact"` // the deepest queue ÷ that by method exact
	Exact     pathRun `json:"exact"`
	IPv4      pathRun `json:"ipv4"` // by method sampled
}

// medianPath returns the medians of runs.
func medianPath(all []pathRun) pathRun {
	of := func(value func(pathRun) float64) float64 { return median(all, value) }
	return pathRun{
		Goodput: of(func(r pathRun) float64 { return r.Goodput }), Drops: of(func(r pathRun) float64 { return r.Drops }),
		Deepest: of(func(r pathRun) float64 { return r.Deepest }), Advice: of(func(r pathRun) float64 { return r.Advice }),
		Samples: of(func(r pathRun) float64 { return r.Samples }),
	}
}

// printPaths shows the figures to people.
func printPaths(w io.Writer, all map[string]*pathFigures) error {
	fmt.Fprintf(w, "\nRate Advice over %v round trip, twice the egress of %d Mbit/s offered\n\n", wanRTT, pathMbps)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "flows\tmethod\tgoodput\tdropped\tdeepest queue\tmessages\tsamples/s\t")
	for _, n := range pathCounts {
		f := all[strconv.Itoa(n)]
		for _, m := range []struct {
			egress
			of *pathRun
		}{{egress{exact: true}, &f.Exact}, {egress{}, &f.pathRun}, {egress{four: true}, &f.IPv4}} {
			fmt.Fprintf(table, "%d\t%v\t%.1f %%\t%.0f\t%.0f kB\t%.0f\t%.0f\t\n", n, m.egress, 100*m.of.Goodput, m.of.Drops, m.of.Deepest/1000, m.of.Advice, m.of.Samples)
		}
	}
	return table.Flush()
}

// judgePaths checks the figures against their bars.
func judgePaths(all map[string]*pathFigures, full bool, check func(ok bool, format string, args ...any)) {
	for _, n := range pathCounts {
		f := all[strconv.Itoa(n)]
		check(f.Advice > 0 && f.IPv4.Advice > 0, "%d flows: no advice reached the sender", n)
		check(!full || f.Goodput >= 0.95, "%d flows: goodput is %.1f %%: want at least 95 %%", n, 100*f.Goodput)
		check(!full || f.Drops == 0, "%d flows: %.0f packets were dropped: want 0", n, f.Drops)
		check(!full || f.IPv4.Goodput >= 0.95 && f.IPv4.Drops == 0, "%d flows of IPv4: goodput is %.1f %%, and %.0f packets were dropped: want at least 95 %% and 0", n, 100*f.IPv4.Goodput, f.IPv4.Drops)
		check(!full || f.OverExact <= 1.3, "%d flows: the deepest queue is %.2f times that by method exact: want at most 1.3", n, f.OverExact)
	}
}
