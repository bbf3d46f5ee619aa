// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Sizes of a picture of a terminal in px.
const (
	cellWidth  = 7.3
	cellHeight = 17.0
	cellSize   = 12.2
	windowBar  = 30.0 // with the title
	windowEdge = 14.0
)

// terminalStyle has the colors on a light and on a dark page. Fonts are those of the reader's machine.
const terminalStyle = `<style>
.page{fill:#ffffff;stroke:#dde3e9}.text{fill:#1c2733}.soft{fill:#556575}.typed{fill:#1f5fa8;font-weight:600}
@media (prefers-color-scheme:dark){.page{fill:#12181f;stroke:#2d3a47}.text{fill:#e3e9ef}.soft{fill:#9fb0c0}.typed{fill:#7db6f5}}
</style>
`

// Terminal writes a picture of a terminal of so many columns as a standalone SVG 1.1 image, light or
// dark as the page is. Longer lines of the text are broken between words; those that begin with "$ "
// were typed. Each line is as wide as its columns in whatever font there is.
func Terminal(w io.Writer, title string, columns int, text string) error {
	lines := broken(strings.TrimSuffix(text, "\n"), columns)
	width, height := 2*windowEdge+float64(columns)*cellWidth, windowBar+float64(len(lines))*cellHeight+windowEdge
	var c canvas
	c.open(width, height, "")
	fmt.Fprintf(&c.out, " aria-labelledby=\"title text\">\n<title id=\"title\">%s</title>\n<desc id=\"text\">%s</desc>\n%s", escape(title), escape(text), terminalStyle)
	fmt.Fprintf(&c.out, `<rect class="page" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="8"/>`+"\n", width-1, height-1)
	fmt.Fprintln(&c.out, `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace">`)
	c.text(width/2, windowBar-11, tickSize, inkSoft, ` class="soft"`+middle, title)
	typed := false
	for i, l := range lines {
		if !l.goesOn {
			typed = strings.HasPrefix(l.text, "$ ")
		}
		n := utf8.RuneCountInString(l.text)
		if n == 0 {
			continue
		}
		class := "text"
		if typed {
			class = "typed"
		}
		attributes := fmt.Sprintf(` class="%s" xml:space="preserve" textLength="%.1f" lengthAdjust="spacingAndGlyphs"`, class, float64(n)*cellWidth)
		c.text(windowEdge, windowBar+(float64(i)+0.7)*cellHeight, cellSize, ink, attributes, l.text)
	}
	return c.close(w)
}

// row is a line of a terminal; goesOn: it is the rest of a longer one.
type row struct {
	text   string
	goesOn bool
}

// broken returns the lines of a text on a terminal of so many columns. A longer line is broken between
// words, and goes on below its last column of text.
func broken(text string, columns int) (lines []row) {
	for line := range strings.SplitSeq(text, "\n") {
		rest, goesOn, indent := []rune(line), false, textColumn([]rune(line), columns)
		for len(rest) > columns {
			at := columns
			for i := columns; i > columns/2; i-- {
				if rest[i] == ' ' {
					at = i
					break
				}
			}
			lines = append(lines, row{strings.TrimRight(string(rest[:at]), " "), goesOn})
			rest, goesOn = append([]rune(strings.Repeat(" ", indent)), []rune(strings.TrimLeft(string(rest[at:]), " "))...), true
		}
		lines = append(lines, row{string(rest), goesOn})
	}
	return lines
}

// textColumn is where the last column of a table's line begins; 0: it has one.
func textColumn(line []rune, columns int) (column int) {
	for i := 2; i < min(len(line), columns/2); i++ {
		if line[i] != ' ' && line[i-1] == ' ' && line[i-2] == ' ' {
			column = i
		}
	}
	return column
}
