// SPDX-License-Identifier: Apache-2.0

package show

import (
	"io"
	"strings"
	"unicode/utf8"

	"sluice/orchagent-ext/cli/output"
	"sluice/yang/text"
)

// Block is pairs, a table, or lines of text.
type Block struct {
	Pairs [][2]string // empty ones are left out
	// Header has the titles of a table.
	Header []string
	// Spare are those that a narrow terminal leaves out, the first one first.
	Spare []string
	// Rows has its cells.
	Rows [][]string
	// Text is a block of sentences, in place of a table.
	Text string
	// Folded: the last column of a table, or the text, goes on in further lines where a terminal is narrow.
	Folded bool
	Joined bool // directly after the block before
}

// Text returns the answer for people.
func (a *Answer) Text(style output.Style) string {
	var all, one strings.Builder
	for i, block := range a.Blocks {
		one.Reset()
		block.write(&one, style)
		if i > 0 && !block.Joined && one.Len() > 0 {
			all.WriteByte('\n')
		}
		all.WriteString(one.String())
	}
	return all.String()
}

// write writes a block for people: a table, a text, or pairs of names and values.
func (b *Block) write(w io.Writer, style output.Style) {
	switch {
	case b.Header != nil:
		t := output.Columns{Header: b.Header, Spare: b.Spare, Ruled: true}.Table(w, style)
		for _, row := range b.folded(style.Width) {
			t.Row(row...)
		}
		_ = t.End() // w always succeeds
	case b.Text != "":
		lines := []string{text.Lines(b.Text)}
		if b.Folded {
			lines = fold(lines[0], style.Width)
		}
		_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n")
	default:
		t := output.NewTable(w, style)
		for _, p := range b.Pairs {
			if p[1] != "" {
				t.Row(p[0], p[1])
			}
		}
		_ = t.End()
	}
}

// leastFolded is the width of a folded column at least, in characters: one of a very narrow terminal
// is wider than it.
const leastFolded = 16

// folded returns the rows of a table for a terminal of a width; 0: any. Cells of the last column that
// have no room go on in rows below.
func (b *Block) folded(width int) [][]string {
	last := len(b.Header) - 1
	if !b.Folded || width == 0 {
		return b.Rows
	}
	room := width
	for i := range last {
		widest := utf8.RuneCountInString(b.Header[i]) + output.RuledRoom
		for _, row := range b.Rows {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		room -= widest + output.Gap
	}
	var all [][]string
	for _, row := range b.Rows {
		for i, line := range fold(row[last], max(room, leastFolded)) {
			below := make([]string, len(row))
			if i == 0 {
				copy(below, row)
			}
			below[last] = line
			all = append(all, below)
		}
	}
	return all
}

// fold breaks a text at its blanks into lines of a width at most, in characters; 0: one line. A
// longer word has a line of its own.
func fold(s string, width int) (lines []string) {
	if width == 0 {
		return []string{s}
	}
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
