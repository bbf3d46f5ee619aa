// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
)

// A canvas is an SVG 1.1 image that is being written. Lengths are user units of SVG; text is
// escaped.
type canvas struct{ out bytes.Buffer }

// Attributes of text in SVG.
const (
	bold   = ` font-weight="600"`
	middle = ` text-anchor="middle"`
	end    = ` text-anchor="end"`
)

// open begins the image.
func (c *canvas) open(width, height float64, attributes string) {
	fmt.Fprintf(&c.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f"%s role="img"`, width, height, width, height, attributes)
}

// standalone begins an image with a title, a description, unless it is "", and a white background.
func (c *canvas) standalone(width, height float64, title, description string) {
	c.open(width, height, "")
	if description == "" {
		fmt.Fprintf(&c.out, " aria-labelledby=\"chart-title\">\n<title id=\"chart-title\">%s</title>\n", escape(title))
	} else {
		fmt.Fprintf(&c.out, " aria-labelledby=\"chart-title chart-desc\">\n<title id=\"chart-title\">%s</title>\n<desc id=\"chart-desc\">%s</desc>\n", escape(title), escape(description))
	}
	fmt.Fprintf(&c.out, `<rect x="0.5" y="0.5" width="%.0f" height="%.0f" rx="8" fill="#ffffff" stroke="%s"/>`+"\n", width-1, height-1, frame)
	fmt.Fprintln(&c.out, `<g font-family="system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif">`)
	c.text(margin, margin+titleSize*0.75, titleSize, ink, bold, title)
}

// inline begins an image for a page, in the colors of that.
func (c *canvas) inline(width, height float64, title string) {
	c.open(width, height, ` font-family="sans-serif"`)
	fmt.Fprintf(&c.out, ">\n<title>%s</title>\n<g>\n", escape(title))
}

// close ends the image and writes it.
func (c *canvas) close(w io.Writer) error {
	fmt.Fprintln(&c.out, "</g>\n</svg>")
	_, err := w.Write(c.out.Bytes())
	return err
}

// text writes a line of text with its baseline at (x, y).
func (c *canvas) text(x, y, size float64, fill, attributes, s string) {
	fmt.Fprintf(&c.out, `<text x="%.2f" y="%.2f" font-size="%g" fill="%s"%s>%s</text>`+"\n", x, y, size, fill, attributes, escape(s))
}

// rect draws a filled rectangle, with a tooltip unless that is "".
func (c *canvas) rect(x, y, width, height float64, fill, tooltip string) {
	fmt.Fprintf(&c.out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"`, x, y, width, height, fill)
	c.end("rect", tooltip)
}

// cell draws a square with a frame, filled as far as opaque says, 0 to 1, with a tooltip.
func (c *canvas) cell(x, y, side float64, fill string, opaque float64, tooltip string) {
	fmt.Fprintf(&c.out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s" fill-opacity="%.2f"%s`, x, y, side, side, fill, opaque, stroke(grid))
	c.end("rect", tooltip)
}

// path draws a path in the syntax of SVG, with a tooltip unless that is "".
func (c *canvas) path(d, attributes, tooltip string) {
	fmt.Fprintf(&c.out, `<path d="%s"%s`, d, attributes)
	c.end("path", tooltip)
}

// end ends an element.
func (c *canvas) end(name, tooltip string) {
	if tooltip == "" {
		fmt.Fprintln(&c.out, "/>")
		return
	}
	fmt.Fprintf(&c.out, "><title>%s</title></%s>\n", escape(tooltip), name)
}

// across is the path of a horizontal line.
func across(from, to, y float64) string { return fmt.Sprintf("M%.2f %.2fH%.2f", from, y, to) }

// down is the path of a vertical line.
func down(x, from, to float64) string { return fmt.Sprintf("M%.2f %.2fV%.2f", x, from, to) }

// curve is the path through points, which next yields.
func curve(points func(yield func(x, y float64) bool)) string {
	var d bytes.Buffer
	step := 'M'
	for x, y := range points {
		fmt.Fprintf(&d, "%c%.1f %.1f", step, x, y)
		step = 'L'
	}
	return d.String()
}

// stroke is the attributes of a line.
func stroke(color string) string { return ` stroke="` + color + `"` }

// dashed is the attributes of a broken line.
func dashed(color string) string { return stroke(color) + ` stroke-dasharray="4 3"` }

// escape returns s as XML character data.
func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a bytes.Buffer always succeeds
	return b.String()
}
