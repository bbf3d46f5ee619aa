// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// A Figure has curves or bars in one pair of axes, in the colors of the page around it. Positions
// are parts of an axis, 0 to 1.
type Figure struct {
	Title string
	// X and Y are labels of the axes.
	X, Y []Tick
	// Names are those of the curves or bars, in the order of colors. One that lacks a curve keeps
	// its place.
	Names  []string
	Curves []Curve
	Beams  []Beam
}

// A Tick is a label of an axis.
type Tick struct {
	At    float64
	Label string
	Bare  bool // without a line of the grid, in small letters
}

// A Curve has points from left to right.
type Curve struct {
	Of     int // index in Names
	Points []Position
}

// A Position is a point between the axes.
type Position struct{ X, Y float64 }

// A Beam is a horizontal bar from the left, with a line that goes on to its right.
type Beam struct {
	Of          int     // index in Names
	Length, Far float64 // ends of bar and line
	Text        string  // value of the bar
}

// Size of a figure in px, and the margins of its axes. On the right is the legend: a name has
// letters of about 7 px, and a beam's a value beside it.
const (
	figureLeft               = 60.0
	figureTop, figureBottom  = 30.0, 40.0
	figureWidth, figureTall  = 430.0, 250.0
	figureLetter, figureSide = 7.0, 100.0
	figureText, figureTitle  = 12.0, 14.0
)

// figureColors are distinct for color-blind eyes, too (Okabe and Ito, with gray for black, which a
// dark page would hide). Names beyond them have broken lines.
var figureColors = []string{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#888888", "#c9b800"}

// Colors of a figure beside those of its names.
const (
	page = "currentColor"
	grid = "#8884"
)

// figureStroke returns the attributes of the line of a name.
func figureStroke(of int) string {
	attributes := ` fill="none" stroke-width="2"` + stroke(figureColors[of%len(figureColors)])
	if of >= len(figureColors) {
		attributes += ` stroke-dasharray="6 3"`
	}
	return attributes
}

// SVG writes the figure as an SVG 1.1 image for a page.
func (f *Figure) SVG(w io.Writer) error {
	var c canvas
	c.inline(f.width(), figureTop+figureTall+figureBottom, f.Title)
	c.text(figureLeft, 18, figureTitle, page, "", f.Title)
	for _, t := range f.X {
		x, size := figureX(t.At), figureText
		if t.Bare {
			size = 10
		} else {
			c.path(down(x, figureTop, figureTop+figureTall), stroke(grid), "")
		}
		c.text(x, figureTop+figureTall+16, size, page, middle, t.Label)
	}
	for _, t := range f.Y {
		y := figureY(t.At)
		c.path(across(figureLeft, figureLeft+figureWidth, y), stroke(grid), "")
		c.text(figureLeft-6, y+4, figureText, page, end, t.Label)
	}
	for _, one := range f.Curves {
		f.curve(&c, one)
	}
	for _, b := range f.Beams {
		f.beam(&c, b)
	}
	return c.close(w)
}

// width returns the width of the figure in px, which has room for its title, for each name, and for the
// value beside that of a bar.
func (f *Figure) width() float64 {
	letters := func(s string) float64 { return figureLetter * float64(utf8.RuneCountInString(s)) }
	right := 0.0
	for _, name := range f.Names {
		right = max(right, figureSide+letters(name))
	}
	for _, b := range f.Beams {
		right = max(right, figureSide/4+letters(f.Names[b.Of]+" "+b.Text))
	}
	return max(figureLeft+figureWidth+right, figureLeft+letters(f.Title)*figureTitle/figureText+figureSide/4)
}

// figureX and figureY return a position in px.
func figureX(part float64) float64 { return figureLeft + figureWidth*part }
func figureY(part float64) float64 { return figureTop + figureTall*(1-part) }

// curve draws a curve, and its place in the legend.
func (f *Figure) curve(c *canvas, one Curve) {
	c.path(curve(func(yield func(x, y float64) bool) {
		for _, p := range one.Points {
			if !yield(figureX(p.X), figureY(p.Y)) {
				return
			}
		}
	}), figureStroke(one.Of), f.Names[one.Of])
	x, y := figureLeft+figureWidth+12, figureTop+10+18*float64(one.Of)
	c.path(across(x, x+20, y-2), figureStroke(one.Of), "")
	c.text(x+26, y+2, figureText, page, "", f.Names[one.Of])
}

// beam draws a bar, with its name and value beside it.
func (f *Figure) beam(c *canvas, b Beam) {
	step := figureTall / float64(len(f.Names))
	y := figureTop + step*float64(b.Of)
	c.rect(figureLeft, y+step*0.2, figureX(b.Length)-figureLeft, step*0.6, figureColors[b.Of%len(figureColors)], "")
	c.path(across(figureX(b.Length), figureX(b.Far), y+step/2), figureStroke(b.Of), "")
	c.text(figureLeft+figureWidth+8, y+step/2+4, figureText, page, "", fmt.Sprintf("%s %s", f.Names[b.Of], b.Text))
}
