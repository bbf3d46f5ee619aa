// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"sluice/orchagent-ext/sim/run"
)

// Size of a plot in pixels, and the margins of its axes.
const (
	width, height       = 640, 320
	left, right         = 60, 150
	top, bottom         = 30, 40
	plotW               = width - left - right
	plotH               = height - top - bottom
	leastTime, mostTime = 1e-7, 1e2 // s: bounds of the axis of times
)

// colors are distinct for color-blind eyes, too (Okabe and Ito).
var colors = []string{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#f0e442"}

// FCT writes the plot of completion times of a load's messages, one line for each feature: the
// part of the messages that took at most so long. Times are on a logarithmic axis.
func (d *Document) FCT(w io.Writer, load string) error {
	low, high := mostTime, leastTime
	each := func(yield func(i int, f string, r *run.Result)) {
		for i, f := range d.features {
			if r := d.Runs[load][f]; r != nil && r.Messages > 0 {
				yield(i, f, r)
			}
		}
	}
	each(func(_ int, _ string, r *run.Result) {
		for _, p := range r.FCT {
			low, high = math.Min(low, p.Seconds), math.Max(high, p.Seconds)
		}
	})
	a, b := math.Floor(math.Log10(math.Max(low, leastTime))), math.Ceil(math.Log10(math.Min(high, mostTime)))
	b = math.Max(b, a+1)
	x := func(s float64) float64 { return left + plotW*(math.Log10(math.Max(s, leastTime))-a)/(b-a) }
	y := func(part float64) float64 { return top + plotH*(1-part) }
	var s strings.Builder
	open(&s, load+": completion times of messages")
	for e := a; e <= b; e++ {
		at := x(math.Pow(10, e))
		fmt.Fprintf(&s, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, top, at, top+plotH, at, top+plotH+16, span(math.Pow(10, e)))
	}
	for _, part := range []float64{0, 0.25, 0.5, 0.75, 0.99} {
		fmt.Fprintf(&s, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f %%</text>`+"\n", left, y(part), left+plotW, y(part), left-6, y(part)+4, part*100)
	}
	each(func(i int, f string, r *run.Result) {
		var points []string
		for _, p := range r.FCT {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p.Seconds), y(p.Part)))
		}
		c := colors[i%len(colors)]
		fmt.Fprintf(&s, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), c)
		legend(&s, i, c, f)
	})
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// Collectives writes the plot of the times of a load's collectives, one bar for each feature; a
// line goes on to the slowest collective.
func (d *Document) Collectives(w io.Writer, load string) error {
	most := 0.0
	for _, f := range d.features {
		if r := d.Runs[load][f]; r != nil {
			most = math.Max(most, r.SlowestS)
		}
	}
	var s strings.Builder
	open(&s, load+": time of a collective, and of the slowest")
	if most > 0 {
		step := float64(plotH) / float64(len(d.features))
		for i, f := range d.features {
			r := d.Runs[load][f]
			if r == nil {
				continue
			}
			c, y := colors[i%len(colors)], top+step*float64(i)
			end := left + plotW*r.CollectiveS/most
			fmt.Fprintf(&s, `<rect x="%d" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, y+step*0.2, end-left, step*0.6, c)
			fmt.Fprintf(&s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2"/>`+"\n", end, y+step/2, left+plotW*r.SlowestS/most, y+step/2, c)
			fmt.Fprintf(&s, `<text x="%d" y="%.1f">%s %s</text>`+"\n", left+plotW+8, y+step/2+4, html.EscapeString(f), span(r.CollectiveS))
		}
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// open begins a plot.
func open(s *strings.Builder, title string) {
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(s, `<title>%s</title><text x="%d" y="18" font-size="14">%s</text>`+"\n", html.EscapeString(title), left, html.EscapeString(title))
}

// legend adds the line of a feature to the legend.
func legend(s *strings.Builder, i int, color, name string) {
	y := top + 10 + 18*i
	fmt.Fprintf(s, `<rect x="%d" y="%d" width="12" height="4" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", left+plotW+12, y-4, color, left+plotW+30, y+2, html.EscapeString(name))
}
