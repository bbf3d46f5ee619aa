// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math"
	"strings"
)

const (
	barWidth    = 10 // columns of a bar
	trendValues = 30 // readings that a sparkline has at most
)

// bars returns the cell of each port with the bar of its share of the uplinks, where the longest bar
// is that of the port with the largest share of all; nil where no share is known. Ports beside the
// group have none.
func (d *drawing) bars(shown []Port) (cells []string) {
	most := 0.0
	for _, p := range d.view.Ports {
		most = max(most, p.Share.value)
	}
	if most == 0 {
		return nil
	}
	for _, p := range shown {
		cell := ""
		if p.Share.known {
			n := int(math.Round(p.Share.value / most * barWidth))
			cell = strings.Repeat(d.glyphs.full, n)
		}
		cells = append(cells, cell)
	}
	return cells
}

// sparkline draws values, the latest at the right: the lowest level is an even 1, the highest the
// largest of them. It is empty with fewer than two.
func (g glyphs) sparkline(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	most := 1.0
	for _, v := range values {
		most = max(most, v)
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if most > 1 {
			level = int(math.Round((v - 1) / (most - 1) * float64(len(g.levels)-1)))
		}
		b.WriteRune(g.levels[max(0, level)])
	}
	return b.String()
}
