// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"math"
)

// A Course is the course of one run over time: plots one below the other with a
// common time axis.
type Course struct {
	Title, Note string
	// Plots share one axis of time.
	Plots []Plot
}

// A Plot has lines over time, or spans of time.
type Plot struct {
	Title string // with the unit
	// Lines share one scale of values.
	Lines []Line
	// Spans have a row each, below the lines.
	Spans []Spans
}

// A Line is a value over time.
type Line struct {
	// Name is in the legend.
	Name string
	// Points are in the order of time.
	Points []Point
}

// A Point is a value at a time.
type Point struct{ Seconds, Value float64 }

// Spans are the times in which something was the case, on a row of their own.
type Spans struct {
	// Name is that of the row.
	Name string
	// Of are the times of the row, in s.
	Of []Span
}

// A Span is a stretch of time, in seconds.
type Span struct{ From, To float64 }

// Sizes in px of a course.
const (
	courseWidth = 420.0
	plotBand    = 22.0 // title of a plot
	linesHeight = 96.0
	spanHeight  = 13.0
	plotGap     = 16.0
	coursesARow = 2
)

// lineColors are the colors of the lines of a plot, in their order.
var lineColors = []string{bar, barTop, "#3f9b6c", "#7d5fb2"}

// Timelines writes the courses as a standalone SVG 1.1 image, two in a row. Plots of
// the same place in their course have the same scale, so that courses compare.
func Timelines(w io.Writer, title string, seconds float64, courses []Course) error {
	height := 0.0
	for _, c := range courses {
		height = max(height, courseHeight(c))
	}
	cols := min(coursesARow, max(len(courses), 1))
	rows := (len(courses) + cols - 1) / cols
	width := 2*margin + max(float64(cols)*(courseWidth+panelGap)-panelGap, textWidth(title, titleSize*wider))
	total := 2*margin + titleBand + float64(rows)*(height+rowGap) - rowGap
	var c canvas
	c.standalone(width, total, title, "")
	for i, one := range courses {
		x := margin + float64(i%cols)*(courseWidth+panelGap)
		y := margin + titleBand + float64(i/cols)*(height+rowGap)
		course(&c, one, x, y, seconds, tops(courses))
	}
	return c.close(w)
}

// tops are the largest values of the plots, by their place.
func tops(courses []Course) (list []float64) {
	for _, c := range courses {
		for i, p := range c.Plots {
			for len(list) <= i {
				list = append(list, 0)
			}
			for _, l := range p.Lines {
				for _, point := range l.Points {
					if v := point.Value; v > list[i] && !math.IsInf(v, 0) {
						list[i] = v
					}
				}
			}
		}
	}
	return list
}

// plotHeightOf returns the height of a plot: its title, the curves if it has any, and a
// row for each span.
func plotHeightOf(p Plot) float64 {
	h := plotBand
	if len(p.Lines) > 0 {
		h += linesHeight
	}
	return h + float64(len(p.Spans))*spanHeight
}

// courseHeight returns the height of all plots of a course with the gaps between them.
func courseHeight(c Course) float64 {
	h := headBand
	for _, p := range c.Plots {
		h += plotHeightOf(p) + plotGap
	}
	return h + axisBand/2
}

// course draws the plots of a course below each other over one axis of time. tops are the
// values of full height, by plot.
func course(c *canvas, of Course, x, y, seconds float64, tops []float64) {
	c.text(x, y+headSize*0.75, fitting(of.Title, headSize, courseWidth/wider), ink, bold, of.Title)
	c.text(x, y+headSize*0.75+19, fitting(of.Note, noteSize, courseWidth/regular), inkSoft, "", of.Note)
	y += headBand
	at := func(s float64) float64 { return x + min(max(s/seconds, 0), 1)*courseWidth }
	for i, p := range of.Plots {
		c.text(x, y+tickSize, tickSize, inkSoft, "", p.Title)
		names(c, p, x+courseWidth, y+tickSize)
		y += plotBand
		if len(p.Lines) > 0 {
			lines(c, p, x, y, at, max(tops[i], math.SmallestNonzeroFloat64))
			y += linesHeight
		}
		for k, s := range p.Spans {
			c.rect(x, y+1, courseWidth, spanHeight-2, slot, "")
			for _, one := range s.Of {
				c.rect(at(one.From), y+1, max(at(one.To)-at(one.From), 0.5), spanHeight-2, lineColors[k%len(lineColors)], fmt.Sprintf("%s: %.3f to %.3f s", s.Name, one.From, one.To))
			}
			y += spanHeight
		}
		y += plotGap
	}
	for s := 0.0; s <= seconds; s += max(math.Ceil(seconds/6), 1) {
		c.text(at(s), y, tickSize, inkSoft, middle, fmt.Sprintf("%.0f s", s))
	}
}

// fitting returns the size of a text, at most size, in which it is no wider than width.
func fitting(s string, size, width float64) float64 {
	return size * min(1, width/max(textWidth(s, size), 1))
}

// names is the legend of a plot; it ends at x.
func names(c *canvas, p Plot, x, y float64) {
	var all []string
	for _, l := range p.Lines {
		all = append(all, l.Name)
	}
	for _, s := range p.Spans {
		all = append(all, s.Name)
	}
	for i := len(all) - 1; i >= 0; i-- {
		c.text(x, y, tickSize, lineColors[i%len(lineColors)], bold+end, all[i])
		x -= textWidth(all[i], tickSize)*wider + 12
	}
}

// lines draws the curves of a plot; at converts seconds to x, and top is the value of
// full height.
func lines(c *canvas, p Plot, x, y float64, at func(float64) float64, top float64) {
	base := y + linesHeight
	c.rect(x, y, courseWidth, linesHeight, slot, "")
	for i, l := range p.Lines {
		d := curve(func(yield func(x, y float64) bool) {
			for _, point := range l.Points {
				if !yield(at(point.Seconds), base-min(max(point.Value/top, 0), 1)*linesHeight) {
					return
				}
			}
		})
		c.path(d, ` fill="none" stroke-width="1.3"`+stroke(lineColors[i%len(lineColors)]), l.Name)
	}
	c.text(x+3, y+tickSize, tickSize-1, inkSoft, "", fmt.Sprintf("%.4g", top))
}
