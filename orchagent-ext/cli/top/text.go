// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/orchagent-ext/cli/output"
)

// glyphs are the characters beyond ASCII, or their replacements.
type glyphs struct {
	ellipsis, divided string
	full              string // of a bar
	levels            []rune // of a sparkline, the lowest first
}

// The characters for terminals with UTF-8 and without.
var (
	utf8Glyphs  = glyphs{ellipsis: "…", divided: "÷", full: "█", levels: []rune("▁▂▃▄▅▆▇█")}
	asciiGlyphs = glyphs{ellipsis: "..", divided: "/", full: "#", levels: []rune("_.-=*#")}
)

// width returns the characters of s, each of which takes one column.
func width(s string) int { return utf8.RuneCountInString(s) }

// cut shortens s to a width at its end.
func (g glyphs) cut(s string, to int) string {
	if width(s) <= to {
		return s
	}
	return string([]rune(s)[:max(0, to-width(g.ellipsis))]) + first(g.ellipsis, to)
}

// middle shortens s to a width in the middle: of an address, the network's beginning and
// the host's end identify most.
func (g glyphs) middle(s string, to int) string {
	if width(s) <= to {
		return s
	}
	r := []rune(s)
	left := max(0, to-width(g.ellipsis))
	head := (left + 1) / 2
	return string(r[:head]) + first(g.ellipsis, to) + string(r[len(r)-(left-head):])
}

// first returns the first n characters of s.
func first(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

// column is one of a table.
type column struct {
	title string
	left  bool // aligned left; numbers right
	least int  // width, for a table that keeps its columns
	cells []string
}

// width returns the width of the widest cell, title included.
func (c column) width() int {
	w := max(c.least, width(c.title))
	for _, cell := range c.cells {
		w = max(w, width(cell))
	}
	return w
}

// drop removes the columns with these titles, in their order, until the rest fits into
// room characters; want returns the width of a column.
func drop(c []column, room int, want func(column) int, titles ...string) []column {
	for _, title := range titles {
		width := -output.Gap
		for _, one := range c {
			width += output.Gap + want(one)
		}
		if width <= room {
			return c
		}
		c = slices.DeleteFunc(c, func(one column) bool { return one.title == title })
	}
	return c
}

// lines prints columns beside each other, the titles first.
func lines(columns []column) []string {
	l := output.Line{Widths: make([]int, len(columns)), Right: make([]bool, len(columns))}
	for i, c := range columns {
		l.Widths[i], l.Right[i] = c.width(), !c.left
	}
	out, cells := make([]string, len(columns[0].cells)+1), make([]string, len(columns))
	for row := range out {
		for i, c := range columns {
			if cells[i] = c.title; row > 0 {
				cells[i] = c.cells[row-1]
			}
		}
		out[row] = strings.TrimRight(string(l.Append(nil, cells)), " ")
	}
	return out
}
