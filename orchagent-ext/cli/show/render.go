// SPDX-License-Identifier: Apache-2.0

package show

import (
	"io"
	"strings"

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
	Text   string
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
		for _, row := range b.Rows {
			t.Row(row...)
		}
		_ = t.End() // w always succeeds
	case b.Text != "":
		_, _ = io.WriteString(w, text.Lines(b.Text)+"\n")
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
