// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"sluice/orchagent-ext/cli/chart"
	"sluice/orchagent-ext/sim/run"
)

// Bounds of the axis of times, s.
const leastTime, mostTime = 1e-7, 1e2

// FCT writes the plot of completion times of a load's messages, one line for each feature: the
// part of the messages that took at most so long. Times are on a logarithmic axis.
func (d *Document) FCT(w io.Writer, load string) error {
	low, high := mostTime, leastTime
	each := func(yield func(i int, r *run.Result)) {
		for i, f := range d.features {
			if r := d.Runs[load][f]; r != nil && r.Messages > 0 {
				yield(i, r)
			}
		}
	}
	each(func(_ int, r *run.Result) {
		for _, p := range r.FCT {
			low, high = math.Min(low, p.Seconds), math.Max(high, p.Seconds)
		}
	})
	a, b := math.Floor(math.Log10(math.Max(low, leastTime))), math.Ceil(math.Log10(math.Min(high, mostTime)))
	b = math.Max(b, a+1)
	x := func(s float64) float64 { return (math.Log10(math.Max(s, leastTime)) - a) / (b - a) }
	f := chart.Figure{Title: load + ": part of all messages by completion time", Names: d.features}
	ticks := []float64{1}
	if b-a <= 2 {
		ticks = []float64{1, 2, 5}
	}
	for e := a; e <= b; e++ {
		for _, t := range ticks {
			if v := t * math.Pow(10, e); v <= 1.001*math.Pow(10, b) {
				f.X = append(f.X, chart.Tick{At: x(v), Label: span(v)})
			}
		}
	}
	for _, part := range []float64{0, 0.25, 0.5, 0.75, 1} {
		f.Y = append(f.Y, chart.Tick{At: part, Label: fmt.Sprintf("%.0f %%", part*100)})
	}
	each(func(i int, r *run.Result) {
		c := chart.Curve{Of: i}
		for _, p := range r.FCT {
			c.Points = append(c.Points, chart.Position{X: x(p.Seconds), Y: p.Part})
		}
		f.Curves = append(f.Curves, c)
	})
	return f.SVG(w)
}

// bar is the time of a load's collectives with a feature, as the page draws it. Lengths are in percent
// of the longest.
type bar struct {
	Name, Text           string
	Length, From, Beyond float64 // of the bar; of the line that goes on to the slowest collective
	Color                string
}

// bars returns the times of a load's collectives, one bar for each feature that ran.
func (d *Document) bars(load string) (all []bar) {
	most := 0.0
	for _, f := range d.features {
		if r := d.Runs[load][f]; r != nil {
			most = math.Max(most, r.SlowestS)
		}
	}
	for i, feature := range d.features {
		r := d.Runs[load][feature]
		if r == nil || most == 0 {
			continue
		}
		b := bar{Name: feature, Text: span(r.CollectiveS), Length: percent * r.CollectiveS / most, Beyond: percent * math.Max(r.SlowestS-r.CollectiveS, 0) / most}
		b.From = b.Length
		b.Color, _ = chart.FigureColor(i)
		if change := d.change(load, r); change != "" {
			b.Text += ", " + change
		}
		all = append(all, b)
	}
	return all
}

// key is a line of the legend.
type key struct {
	Name, Color string
	Broken      bool
}

// keys returns the legend of a load's plots.
func (d *Document) keys(load string) (all []key) {
	for i, f := range d.features {
		if d.Runs[load][f] != nil {
			k := key{Name: f}
			k.Color, k.Broken = chart.FigureColor(i)
			all = append(all, k)
		}
	}
	return all
}

// Heat writes the map of the load of each uplink of each leaf with a feature, as multiples of the mean
// of the leaf's uplinks. It reports whether there is one: leaves without uplinks, and uplinks without
// load, have none.
func (d *Document) Heat(w io.Writer, load, feature string) (bool, error) {
	r := d.Runs[load][feature]
	if r == nil || r.UpWorst == 0 {
		return false, nil
	}
	h := chart.Heat{Title: load + ", " + feature + ": load of each uplink of each leaf", Row: "leaf", Column: "uplink"}
	for _, leaf := range r.Uplinks {
		sum := 0.0
		for _, octets := range leaf {
			sum += octets
		}
		row := make([]float64, len(leaf))
		for i, octets := range leaf {
			if sum > 0 {
				row[i] = octets * float64(len(leaf)) / sum
			}
		}
		h.Of = append(h.Of, row)
	}
	return true, h.SVG(w)
}

// Slowdown writes the plot of slowdowns by size of message, one line for each feature: the 99th
// percentile. Both axes are logarithmic. It reports whether there is one: a load whose messages
// have one size has none.
func (d *Document) Slowdown(w io.Writer, load string) (bool, error) {
	most, classes := 0.0, map[int64]bool{}
	for _, r := range d.Runs[load] {
		for _, c := range r.Sizes {
			most = math.Max(most, c.P99)
			classes[c.Octets] = true
		}
	}
	if len(classes) < 2 {
		return false, nil
	}
	// 0 is the last
	order := slices.SortedFunc(maps.Keys(classes), func(a, b int64) int { return cmp.Compare(uint64(a-1), uint64(b-1)) })
	b := math.Max(math.Ceil(math.Log10(most)), 1)
	x := func(i int) float64 { return (float64(i) + 0.5) / float64(len(order)) }
	y := func(v float64) float64 { return math.Log10(math.Max(v, 1)) / b }
	f := chart.Figure{Title: load + ": slowdown of one message in 100, by size", Names: d.features}
	for e := 0.; e <= b; e++ {
		for _, t := range []float64{1, 2, 5} {
			if v := t * math.Pow(10, e); v <= math.Pow(10, b) {
				f.Y = append(f.Y, chart.Tick{At: y(v), Label: fmt.Sprintf("%.0f", v)})
			}
		}
	}
	for i, octets := range order {
		name := "≤ " + amount(octets)
		if octets == 0 {
			name = "more"
		}
		f.X = append(f.X, chart.Tick{At: x(i), Label: name, Bare: true})
	}
	for i, feature := range d.features {
		r := d.Runs[load][feature]
		if r == nil {
			continue
		}
		c := chart.Curve{Of: i}
		for _, size := range r.Sizes {
			c.Points = append(c.Points, chart.Position{X: x(slices.Index(order, size.Octets)), Y: y(size.P99)})
		}
		f.Curves = append(f.Curves, c)
	}
	return true, f.SVG(w)
}

// amount is a number of octets as people read it.
func amount(octets int64) string {
	if octets >= 1_000_000 {
		return fmt.Sprintf("%d MB", octets/1_000_000)
	}
	return fmt.Sprintf("%d kB", octets/1000)
}
