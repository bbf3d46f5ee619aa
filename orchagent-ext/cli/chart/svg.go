// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Sizes in px. An em of the fonts below is on average half as wide as it is high,
// a little more when bold.
const (
	margin     = 28.0
	panelGap   = 28.0
	rowGap     = 34.0
	minPanel   = 196.0
	maxWidth   = 1000.0
	plotHeight = 170.0
	headRoom   = 18.0 // above the longest bar, for its value

	titleSize = 19.0
	headSize  = 14.0
	noteSize  = 12.5
	tickSize  = 11.0

	titleBand = 36.0 // title of the chart and the space below it
	headBand  = 44.0 // a panel's title and note, and the space below them
	axisBand  = 30.0 // labels below the bars
)

// Colors of the pictures (sRGB).
const (
	ink     = "#1c2733"
	inkSoft = "#556575"
	slot    = "#eef2f6"
	bar     = "#4d82c4"
	barTop  = "#d9662b"
	rule    = "#98a6b3"
	frame   = "#dde3e9"
)

// SVG writes the groups as a standalone SVG 1.1 image: a panel a group in a grid,
// all on the same scale, the mean dashed, the longest bar of each panel set off
// and labelled with its value. It carries its own white background, title and
// description, every value as a tooltip, and all that it refers to.
func SVG(w io.Writer, title string, groups []Group) error {
	l := arrange(title, groups)
	var c canvas
	c.standalone(l.width, l.height, title, describe(groups))
	legend(&c, l.width-margin, margin+titleSize*0.75)
	scale := longest(groups)
	for i, g := range groups {
		x := margin + float64(i%l.cols)*(l.panel+panelGap)
		y := margin + titleBand + float64(i/l.cols)*(panelHeight+rowGap)
		panel(&c, g, x, y, l.panel, scale)
	}
	return c.close(w)
}

// panelHeight is the height of a group of bars, in SVG's user units as all lengths here.
const panelHeight = headBand + headRoom + plotHeight + axisBand

// layout is the size of a picture and the number of panels side by side.
type layout struct {
	width, height float64
	panel         float64 // width of a panel
	cols          int
}

// arrange makes panels wide enough for their titles and puts as many into a row as
// fit, rows evenly filled.
func arrange(title string, groups []Group) layout {
	l := layout{panel: minPanel, cols: 1}
	for _, g := range groups {
		l.panel = max(l.panel, textWidth(g.Title, headSize*wider), textWidth(g.Note, noteSize*regular))
	}
	rows := 1
	if n := len(groups); n > 0 {
		fit := max(int((maxWidth-2*margin+panelGap)/(l.panel+panelGap)), 1)
		rows = (n + fit - 1) / fit
		l.cols = (n + rows - 1) / rows
	}
	l.width = 2*margin + max(float64(l.cols)*(l.panel+panelGap)-panelGap, textWidth(title, titleSize*wider)+legendWidth)
	l.height = 2*margin + titleBand + float64(rows)*(panelHeight+rowGap) - rowGap
	return l
}

// panel draws a group of bars with its title, at (x, y). scale is the value of the full
// height, common to all panels so that they can be compared.
func panel(c *canvas, g Group, x, y, width, scale float64) {
	c.text(x, y+headSize*0.75, headSize, ink, bold, g.Title)
	c.text(x, y+headSize*0.75+19, noteSize, inkSoft, "", g.Note)
	if len(g.Bars) == 0 {
		return
	}
	top := y + headBand + headRoom
	base := top + plotHeight
	height := func(v float64) float64 {
		if v == 0 {
			return 0
		}
		return max(v/scale*plotHeight, 1)
	}
	pitch := width / float64(len(g.Bars))
	thick := pitch * 0.72
	left := func(i int) float64 { return x + (float64(i)+0.5)*pitch - thick/2 }

	worst := g.worst()
	for i, b := range g.Bars {
		fill := bar
		if i == worst {
			fill = barTop
		}
		h := height(b.value())
		tooltip := b.Label + ": " + b.Text
		c.rect(left(i), top, thick, plotHeight, slot, tooltip)
		if h > 0 {
			c.rect(left(i), base-h, thick, h, fill, tooltip)
		}
	}
	c.path(across(x, x+width, base), stroke(rule), "")
	if worst >= 0 {
		mean := base - height(g.mean())
		c.path(across(x, x+width, mean), dashed(ink), "")
		b := g.Bars[worst]
		half := textWidth(b.Text, tickSize*regular) / 2
		centre := min(max(left(worst)+thick/2, x+half), x+width-half)
		c.text(centre, base-height(b.value())-6, tickSize, ink, middle, b.Text)
	}
	ticks(c, g.Bars, x, base+14, pitch)
}

// ticks labels the bars, or as many of them as there is room for. Words that all
// labels begin with are written once, below.
func ticks(c *canvas, bars []Bar, x, y, pitch float64) {
	axis := sharedWords(bars)
	widest := 0.0
	for _, b := range bars {
		widest = max(widest, textWidth(b.Label[len(axis):], tickSize))
	}
	step := max(int(math.Ceil((widest+8)/pitch)), 1)
	for i := 0; i < len(bars); i += step {
		c.text(x+(float64(i)+0.5)*pitch, y, tickSize, inkSoft, middle, bars[i].Label[len(axis):])
	}
	c.text(x+float64(len(bars))*pitch/2, y+15, tickSize, inkSoft, middle, strings.TrimSpace(axis))
}

// sharedWords returns the common prefix of all labels, up to a space; "" for a
// single bar.
func sharedWords(bars []Bar) string {
	if len(bars) < 2 {
		return ""
	}
	shared := bars[0].Label
	for _, b := range bars[1:] {
		for !strings.HasPrefix(b.Label, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	return shared[:strings.LastIndexByte(shared, ' ')+1]
}

// legend explains line and color; it ends at x.
func legend(c *canvas, x, y float64) {
	const worst, mean = "largest", "mean"
	x -= textWidth(worst, tickSize)
	c.text(x, y, tickSize, inkSoft, "", worst)
	x -= 15
	c.rect(x, y-8.5, 10, 9, barTop, "")
	x -= 16 + textWidth(mean, tickSize)
	c.text(x, y, tickSize, inkSoft, "", mean)
	c.path(across(x-24, x-5, y-3.5), dashed(ink), "")
}

// legendWidth is the width of the legend with space before it, in pixels.
const legendWidth = 150.0

// How much wider the letters of the widest usual font (DejaVu Sans, on Linux) are than those of
// [textWidth].
const (
	regular = 1.12
	wider   = 1.28 // bold
)

// textWidth estimates the width of s in px.
func textWidth(s string, size float64) float64 {
	return float64(utf8.RuneCountInString(s)) * size * 0.53
}

// describe returns the values of the panels as text.
func describe(groups []Group) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d bar charts on one scale, a dashed line at each mean.", len(groups))
	for _, g := range groups {
		fmt.Fprintf(&s, " %s, %d bars: %s.", g.Title, len(g.Bars), g.Note)
	}
	return s.String()
}
