// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"sluice/orchagent-ext/sim/run"
)

// Size of a plot in pixels, and the margins of its axes. On the right is the legend: a name has
// letters of about 7 pixels, and a bar's a time behind it.
const (
	left                = 60
	top, bottom         = 30, 40
	plotW, plotH        = 430, 250
	height              = top + plotH + bottom
	letter, beside      = 7, 100
	leastTime, mostTime = 1e-7, 1e2 // s: bounds of the axis of times
)

// colors are distinct for color-blind eyes, too (Okabe and Ito, with gray for black, which a dark
// page would hide). Features beyond them have dashed lines.
var colors = []string{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#888888", "#c9b800"}

// stroke returns the attributes of the line of a feature.
func stroke(i int) string {
	dash := ""
	if i >= len(colors) {
		dash = ` stroke-dasharray="6 3"`
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="2"%s`, colors[i%len(colors)], dash)
}

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
	d.open(&s, load+": part of all messages by completion time")
	ticks := []float64{1}
	if b-a <= 2 {
		ticks = []float64{1, 2, 5}
	}
	for e := a; e <= b; e++ {
		for _, t := range ticks {
			if v := t * math.Pow(10, e); v <= 1.001*math.Pow(10, b) {
				at := x(v)
				fmt.Fprintf(&s, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="grid"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, top, at, top+plotH, at, top+plotH+16, span(v))
			}
		}
	}
	for _, part := range []float64{0, 0.25, 0.5, 0.75, 1} {
		level(&s, y(part), fmt.Sprintf("%.0f %%", part*100))
	}
	each(func(i int, f string, r *run.Result) {
		var points []string
		for _, p := range r.FCT {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p.Seconds), y(p.Part)))
		}
		line(&s, i, points, f)
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
	d.open(&s, load+": mean time of a collective, line: of the slowest")
	if most > 0 {
		step := float64(plotH) / float64(len(d.features))
		for i, f := range d.features {
			r := d.Runs[load][f]
			if r == nil {
				continue
			}
			y := top + step*float64(i)
			end := left + plotW*r.CollectiveS/most
			fmt.Fprintf(&s, `<rect x="%d" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, y+step*0.2, end-left, step*0.6, colors[i%len(colors)])
			fmt.Fprintf(&s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", end, y+step/2, left+plotW*r.SlowestS/most, y+step/2, stroke(i))
			fmt.Fprintf(&s, `<text x="%d" y="%.1f">%s %s</text>`+"\n", left+plotW+8, y+step/2+4, html.EscapeString(f), span(r.CollectiveS))
		}
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
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
	y := func(v float64) float64 { return top + plotH*(1-math.Log10(math.Max(v, 1))/b) }
	x := func(i int) float64 { return left + plotW*(float64(i)+0.5)/float64(len(order)) }
	var s strings.Builder
	d.open(&s, load+": slowdown of one message in 100, by size")
	for e := 0.; e <= b; e++ {
		for _, t := range []float64{1, 2, 5} {
			if v := t * math.Pow(10, e); v <= math.Pow(10, b) {
				level(&s, y(v), fmt.Sprintf("%.0f", v))
			}
		}
	}
	for i, octets := range order {
		name := "≤ " + amount(octets)
		if octets == 0 {
			name = "more"
		}
		fmt.Fprintf(&s, `<text x="%.1f" y="%d" text-anchor="middle" font-size="10">%s</text>`+"\n", x(i), top+plotH+16, name)
	}
	for i, f := range d.features {
		r := d.Runs[load][f]
		if r == nil {
			continue
		}
		var points []string
		for _, c := range r.Sizes {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(slices.Index(order, c.Octets)), y(c.P99)))
		}
		line(&s, i, points, f)
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return true, err
}

// amount is a number of octets as people read it.
func amount(octets int64) string {
	if octets >= 1_000_000 {
		return fmt.Sprintf("%d MB", octets/1_000_000)
	}
	return fmt.Sprintf("%d kB", octets/1000)
}

// open begins a plot. The names of all features fit beside it.
func (d *Document) open(s *strings.Builder, title string) {
	longest := 0
	for _, f := range d.features {
		longest = max(longest, len(f))
	}
	width := left + plotW + beside + letter*longest
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="currentColor" role="img">`+"\n", width, height, width, height)
	s.WriteString("<style>.grid { stroke: #8884 }</style>\n")
	fmt.Fprintf(s, `<title>%s</title><text x="%d" y="18" font-size="14">%s</text>`+"\n", html.EscapeString(title), left, html.EscapeString(title))
}

// level adds a horizontal line of the grid.
func level(s *strings.Builder, y float64, name string) {
	fmt.Fprintf(s, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="grid"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, y, left+plotW, y, left-6, y+4, name)
}

// line adds the line of a feature, and its place in the legend.
func line(s *strings.Builder, i int, points []string, name string) {
	y := top + 10 + 18*i
	fmt.Fprintf(s, `<polyline points="%s" fill="none" %s/>`+"\n", strings.Join(points, " "), stroke(i))
	fmt.Fprintf(s, `<line x1="%d" y1="%d" x2="%d" y2="%d" %s/><text x="%d" y="%d">%s</text>`+"\n", left+plotW+12, y-2, left+plotW+32, y-2, stroke(i), left+plotW+38, y+2, html.EscapeString(name))
}
