// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"sluice/yang/text"
)

// table prints rows in aligned columns as they come: the widths are those of the
// first rows, which are kept back for that, so that a table of a million rows
// takes constant memory.
type table struct {
	w      *bufio.Writer
	widths []int
	first  [][]string
	begun  bool
	line   []byte
}

// tableLookahead is how many rows are held back to find the widths of columns. A wider
// cell after them shifts its own row only, so that a table of any length takes bounded
// memory and appears early.
const tableLookahead = 500 // rows

// newTable returns a table with a header, written to w when its widths are known.
func newTable(w io.Writer, header ...string) *table {
	t := &table{w: bufio.NewWriter(w), widths: make([]int, len(header))}
	t.row(header...)
	return t
}

// row adds a row; names in it may be of a capture, a device or another switch. Errors of
// writing show in end.
func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = text.Printable(cells[i])
	}
	if t.begun {
		t.print(cells)
		return
	}
	for i, c := range cells {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
	}
	t.first = append(t.first, cells)
	if len(t.first) > tableLookahead {
		t.begin()
	}
}

// begin prints the rows that were held back; the widths are fixed from then on.
func (t *table) begin() {
	t.begun = true
	for _, cells := range t.first {
		t.print(cells)
	}
	t.first = nil
}

// print writes one row. Errors of w appear at Flush.
func (t *table) print(cells []string) {
	t.line = appendAligned(t.line[:0], cells, t.widths)
	_, _ = t.w.Write(t.line)
}

// aligned returns a line of cells, each as wide as its column, with trailing
// blanks removed.
func aligned(cells []string, widths []int) string { return string(appendAligned(nil, cells, widths)) }

// appendAligned appends cells that are padded to widths in characters, two spaces apart,
// and a line feed. Spaces at the end are cut.
func appendAligned(line []byte, cells []string, widths []int) []byte {
	for i, c := range cells {
		if i > 0 {
			line = append(line, "  "...)
		}
		line = append(line, c...)
		for range widths[i] - utf8.RuneCountInString(c) {
			line = append(line, ' ')
		}
	}
	return append(bytes.TrimRight(line, " "), '\n')
}

// flush writes the rows that were kept back, if there are any. From then on the
// columns have the widths that these need.
func (t *table) flush() {
	if !t.begun && len(t.first) > 1 {
		t.begin()
	}
	if t.begun {
		_ = t.w.Flush() // the error comes again in end
	}
}

// end prints the rows that were kept back.
func (t *table) end() error {
	if !t.begun {
		t.begin()
	}
	return t.w.Flush()
}
