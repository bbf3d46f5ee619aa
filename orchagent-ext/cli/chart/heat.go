// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"math"
)

// A Heat is a map of loads: a cell for each, the fuller the darker, in the colors of the page around it.
type Heat struct {
	Title       string      // for who cannot see it
	Row, Column string      // what they are, such as "leaf"
	Of          [][]float64 // rows of loads, as multiples of the mean of their row
}

// Sizes in px of a map, and how full the darkest cell is.
const (
	heatCell, heatGap = 16.0, 2.0
	heatMost          = 2.5 // times the mean
)

// HeatColor is the color of cells, which are the more transparent the emptier they are.
const HeatColor = "#d55e00"

// HeatPart returns how opaque a cell of a load is, 0 to 1: 0.4 is the mean, and from [heatMost] times
// the mean on it is 1.
func HeatPart(load float64) float64 { return math.Min(math.Max(load/heatMost, 0), 1) }

// SVG writes the map as an SVG 1.1 image for a page.
func (h *Heat) SVG(w io.Writer) error {
	columns := 0
	for _, row := range h.Of {
		columns = max(columns, len(row))
	}
	var c canvas
	pitch := heatCell + heatGap
	c.inline(float64(max(columns, 1))*pitch+heatGap, float64(max(len(h.Of), 1))*pitch+heatGap, h.Title)
	for i, row := range h.Of {
		for k, load := range row {
			c.cell(heatGap+float64(k)*pitch, heatGap+float64(i)*pitch, heatCell, HeatColor, HeatPart(load), fmt.Sprintf("%s %d, %s %d: %.2f times the mean", h.Row, i, h.Column, k, load))
		}
	}
	return c.close(w)
}
