// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
)

// minBar is the least number of columns that the longest bar gets.
const minBar = 10

// Text writes the groups one below the other: a title, and a line a bar with label,
// value and bar. The longest bar of all groups ends at column width (or has 10
// columns where width leaves less); a value above 0 shows at least an eighth of a
// column. Every character is taken as one column wide.
func Text(w io.Writer, groups []Group, width int) error {
	label := columns(groups, func(b Bar) string { return b.Label })
	value := columns(groups, func(b Bar) string { return b.Text })
	const gap = 2
	room := max(width-gap-label-gap-value-gap, minBar)
	scale := longest(groups)

	var out bytes.Buffer
	for i, g := range groups {
		if i > 0 {
			out.WriteByte('\n')
		}
		line(&out, g.Title+"  "+g.Note)
		for _, b := range g.Bars {
			line(&out, fmt.Sprintf("  %-*s  %*s  %s", label, b.Label, value, b.Text, blocks(b.value(), scale, room)))
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// line writes s without spaces at its end, and a line feed.
func line(out *bytes.Buffer, s string) {
	out.WriteString(strings.TrimRight(s, " "))
	out.WriteByte('\n')
}

// blocks draws v as a bar of which scale fills room columns, to an eighth.
func blocks(v, scale float64, room int) string {
	if v == 0 {
		return ""
	}
	eighths := max(int(math.Round(v/scale*float64(room)*8)), 1)
	return strings.Repeat("█", eighths/8) + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
}
