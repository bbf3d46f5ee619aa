// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/yang/text"
)

// Table prints rows in aligned columns as they come: the widths are those of the first
// rows, which are kept back for that, so that a table of a million rows takes constant
// memory.
type Table struct {
	w       *bufio.Writer
	style   Style
	columns Columns
	widths  []int // characters; -1: the column is left out
	first   [][]string
	begun   bool
}

// Columns describe a table.
type Columns struct {
	// Header has the titles; nil: the table has none, and each row the same number of cells.
	Header []string
	// Spare are the titles of columns that may be left out of a narrow terminal, the first
	// one first.
	Spare []string
	// Ruled draws a line below the header, as SONiC's commands do.
	Ruled bool
}

const (
	// lookahead is how many rows are held back to find the widths of columns. A wider cell
	// after them shifts its own row only.
	lookahead = 500
	// widest is how wide a cell makes its column at most, in characters: a wider one shifts its
	// own row only.
	widest = 256
	// Gap is the number of blanks between columns.
	Gap = 2
	// RuledRoom is how much wider than its title a ruled column is, at least.
	RuledRoom = 2
)

// NewTable returns a table of titles, written to w when its widths are known.
func NewTable(w io.Writer, style Style, header ...string) *Table {
	return Columns{Header: header}.Table(w, style)
}

// Table returns a table of these columns. A title may be of a row's key, as a cell.
func (c Columns) Table(w io.Writer, style Style) *Table {
	c.Header = slices.Clone(c.Header)
	t := &Table{w: bufio.NewWriter(w), style: style, columns: c, widths: make([]int, len(c.Header))}
	for i, title := range c.Header {
		c.Header[i] = text.Printable(title)
		t.widths[i] = utf8.RuneCountInString(title)
		if c.Ruled {
			t.widths[i] += RuledRoom
		}
	}
	return t
}

// Row adds a row; names in it may be of a capture, a device or another switch. Cells and
// their texts are the caller's again afterwards; those that cannot be printed as they are were replaced.
// Errors of writing show in End.
func (t *Table) Row(cells ...string) {
	for i := range cells {
		cells[i] = text.Printable(cells[i])
	}
	if t.begun {
		t.print(cells, t.style.Color)
		return
	}
	if t.widths == nil || len(t.widths) < len(cells) {
		t.widths = append(t.widths, make([]int, len(cells)-len(t.widths))...)
	}
	kept := make([]string, len(cells))
	for i, c := range cells {
		if width := utf8.RuneCountInString(c); width <= widest {
			t.widths[i] = max(t.widths[i], width)
		}
		kept[i] = strings.Clone(c)
	}
	t.first = append(t.first, kept)
	if len(t.first) >= lookahead {
		t.begin()
	}
}

// begin prints the header and the rows that were held back; the widths are fixed from then
// on.
func (t *Table) begin() {
	t.begun = true
	t.fit()
	if t.columns.Header != nil {
		t.print(t.columns.Header, false)
	}
	if t.columns.Ruled {
		rule := make([]string, len(t.widths))
		for i, width := range t.widths {
			rule[i] = strings.Repeat("-", max(width, 0))
		}
		t.print(rule, false)
	}
	for _, cells := range t.first {
		t.print(cells, t.style.Color)
	}
	t.first = nil
}

// fit leaves spare columns out until the others fit the width: first those that are empty
// in all rows that are known.
func (t *Table) fit() {
	empty := func(i int) bool {
		return !slices.ContainsFunc(t.first, func(cells []string) bool { return cells[i] != "-" && cells[i] != "" })
	}
	for _, all := range []bool{false, true} {
		for _, title := range t.columns.Spare {
			i := slices.Index(t.columns.Header, title)
			if t.style.Width == 0 || t.total() <= t.style.Width {
				return
			}
			if i >= 0 && (all || len(t.first) > 0 && empty(i)) {
				t.widths[i] = -1
			}
		}
	}
}

// total returns the width of a line in characters.
func (t *Table) total() int {
	total := -Gap
	for _, width := range t.widths {
		if width >= 0 {
			total += width + Gap
		}
	}
	return total
}

// print writes one row. Errors of w appear at Flush.
func (t *Table) print(cells []string, color bool) {
	l := Line{Widths: t.widths}
	if color {
		l.Color = func(i int, cell string) string {
			if i >= len(t.columns.Header) {
				return ""
			}
			return alarm(t.columns.Header[i], cell)
		}
	}
	_, _ = t.w.Write(append(l.Append(t.w.AvailableBuffer(), cells), '\n'))
}

// A Line is the layout of the lines of a table.
type Line struct {
	Widths []int  // characters; below 0: the column is left out
	Right  []bool // aligned right; nil: all columns are aligned left
	// Color returns the escape sequence of a cell, or ""; nil: no cell has one.
	Color func(i int, cell string) string
}

// Append appends the cells of a row, padded in characters, without blanks at its end.
func (l *Line) Append(line []byte, cells []string) []byte {
	blanks := 0
	for i, c := range cells {
		width := l.Widths[i]
		if width < 0 {
			continue
		}
		pad := max(width-utf8.RuneCountInString(c), 0)
		if l.Right != nil && l.Right[i] {
			blanks, pad = blanks+pad, 0
		}
		if c != "" {
			line = appendBlanks(line, blanks)
			blanks = 0
			line = l.appendCell(line, i, c)
		}
		blanks += pad + Gap
	}
	return line
}

// appendCell appends a cell, with its color.
func (l *Line) appendCell(line []byte, i int, cell string) []byte {
	if l.Color == nil {
		return append(line, cell...)
	}
	escape := l.Color(i, cell)
	if escape == "" {
		return append(line, cell...)
	}
	line = append(line, escape...)
	line = append(line, cell...)
	return append(line, plain...)
}

// appendBlanks appends n blanks.
func appendBlanks(line []byte, n int) []byte {
	const blanks = "                                "
	for ; n > len(blanks); n -= len(blanks) {
		line = append(line, blanks...)
	}
	return append(line, blanks[:n]...)
}

// Flush writes the rows that were kept back, if there are any. From then on the columns
// have the widths that these need.
func (t *Table) Flush() {
	if !t.begun && len(t.first) > 0 {
		t.begin()
	}
	if t.begun {
		_ = t.w.Flush() // the error comes again in End
	}
}

// End prints the rows that were kept back.
func (t *Table) End() error {
	if !t.begun {
		t.begin()
	}
	return t.w.Flush()
}

// Escape sequences of colors (ECMA-48, SGR).
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// alarm returns the color of a cell by the title of its column: red for packets that are
// gone or refused, yellow for marks of congestion; "" for all others.
func alarm(title, cell string) string {
	if cell == "" || cell == "-" || strings.Trim(cell, "0.%") == "" {
		return ""
	}
	switch strings.ToUpper(title) {
	case "NAKS", "LOST", "DROPPED":
		return red
	case "CE", "MARKED", "CNPS":
		return yellow
	case "ECN":
		if cell == "ce" {
			return yellow
		}
	case "OPCODE":
		if strings.Contains(cell, " NAK ") {
			return red
		}
		if cell == "CNP" {
			return yellow
		}
	case "ICRC":
		if cell == "bad" {
			return red
		}
	}
	return ""
}
