// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"
	"unicode/utf8"

	"sluice/yang/text"
)

// Block is pairs, a table, or lines of text.
type Block struct {
	Pairs [][2]string // those without a value are left out
	// Header has the titles of a table.
	Header []string
	// Rows has its cells.
	Rows [][]string
	// Text is a block of sentences, in place of a table.
	Text   string
	Joined bool // no empty line between the block before and this one
}

// least is how much wider than its title a column is, at least.
const least = 2

// Text returns the answer for people.
func (a *Answer) Text() string {
	var b strings.Builder
	for i, block := range a.Blocks {
		said := block.text()
		if i > 0 && !block.Joined && said != "" {
			b.WriteByte('\n')
		}
		b.WriteString(said)
	}
	return b.String()
}

// text returns a block for people: a table, a text, or pairs of names and values.
func (b *Block) text() string {
	switch {
	case b.Header != nil:
		return b.table()
	case b.Text != "":
		return text.Lines(b.Text) + "\n"
	}
	width := 0
	for _, p := range b.Pairs {
		if p[1] != "" {
			width = max(width, utf8.RuneCountInString(p[0]))
		}
	}
	var out strings.Builder
	for _, p := range b.Pairs {
		if p[1] != "" {
			out.WriteString(line([]string{p[0], p[1]}, []int{width, 0}))
		}
	}
	return out.String()
}

// table returns the rows below their header, in columns.
func (b *Block) table() string {
	widths := make([]int, len(b.Header))
	for i, title := range b.Header {
		widths[i] = utf8.RuneCountInString(title) + least
		for _, row := range b.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
	}
	var out strings.Builder
	out.WriteString(line(b.Header, widths) + line(rule, widths))
	for _, row := range b.Rows {
		out.WriteString(line(row, widths))
	}
	return out.String()
}

// line returns cells in columns, free of control characters: cells may hold text of other
// programs, which could command the terminal.
func line(cells []string, widths []int) string {
	var out strings.Builder
	for i, c := range cells {
		if i > 0 {
			out.WriteString("  ")
		}
		c = text.Printable(c)
		out.WriteString(c)
		if pad := widths[i] - utf8.RuneCountInString(c); pad > 0 {
			out.WriteString(strings.Repeat(" ", pad))
		}
	}
	return strings.TrimRight(out.String(), " ") + "\n"
}
