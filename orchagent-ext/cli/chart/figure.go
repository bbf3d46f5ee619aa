// SPDX-License-Identifier: Apache-2.0

package chart

import "io"

// A Figure has curves in one pair of axes, in the colors of the page around it, which has its title
// and its legend. Positions are parts of an axis, 0 to 1.
type Figure struct {
	Title string // for who cannot see it
	// X and Y are labels of the axes.
	X, Y []Tick
	// Names are those of the curves, in the order of colors. One that lacks a curve keeps its place.
	Names  []string
	Curves []Curve
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

// Size of a figure in px, and the margins of its axes.
const (
	figureLeft              = 48.0
	figureTop, figureBottom = 10.0, 24.0
	figureWidth, figureTall = 430.0, 250.0
	figureRight, figureText = 24.0, 12.0
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
	color, broken := FigureColor(of)
	attributes := ` fill="none" stroke-width="2"` + stroke(color)
	if broken {
		attributes += ` stroke-dasharray="6 3"`
	}
	return attributes
}

// FigureColor returns the color of a name by its index, and whether its line is broken.
func FigureColor(of int) (color string, broken bool) {
	return figureColors[of%len(figureColors)], of >= len(figureColors)
}

// SVG writes the figure as an SVG 1.1 image for a page.
func (f *Figure) SVG(w io.Writer) error {
	var c canvas
	c.inline(figureLeft+figureWidth+figureRight, figureTop+figureTall+figureBottom, f.Title)
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
	return c.close(w)
}

// figureX and figureY return a position in px.
func figureX(part float64) float64 { return figureLeft + figureWidth*part }
func figureY(part float64) float64 { return figureTop + figureTall*(1-part) }

// curve draws a curve.
func (f *Figure) curve(c *canvas, one Curve) {
	c.path(curve(func(yield func(x, y float64) bool) {
		for _, p := range one.Points {
			if !yield(figureX(p.X), figureY(p.Y)) {
				return
			}
		}
	}), figureStroke(one.Of), f.Names[one.Of])
}
