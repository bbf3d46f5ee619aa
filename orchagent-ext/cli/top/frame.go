// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"unicode"

	"sluice/yang/text"
)

// Layout is how a frame is drawn.
type Layout struct {
	Width  int   // columns; 0: as many as it takes
	Height int   // lines; 0: as many as there are
	UTF8   bool  // the terminal shows it
	Color  bool  // of states
	Order  Order // sort key of the flows, for their header
	Footer string
}

// glyphs returns the characters that the terminal can show.
func (l Layout) glyphs() glyphs {
	if l.UTF8 {
		return utf8Glyphs
	}
	return asciiGlyphs
}

// low is the height below which a frame has only ports, path share, flows and the number
// of held flows.
const low = 16

// Frame draws the view: lines that fit the layout, each ended by a line feed. Where the
// height is short, ports that carry least and flows at the end are left out, and the
// frame has their number.
func (v *View) Frame(l Layout) string {
	d := drawing{v, l, l.glyphs()}
	return l.text(d.lines(), d.color)
}

// drawing is a view while it is drawn in a layout.
type drawing struct {
	view   *View
	layout Layout
	glyphs glyphs
}

// lines returns the lines of the frame, of any width, without the footer.
func (d *drawing) lines() []string {
	v, l := d.view, d.layout
	out := d.header()
	if d.unknown() {
		return out
	}
	compact, space := l.Height > 0 && l.Height < low, []string{""}
	tail := append([]string{""}, d.counts()...)
	if compact {
		tail, space = nil, nil
	} else if v.Fabric != nil {
		tail = append([]string{v.Fabric.line()}, tail...)
	}
	if v.Paths.Count > 1 {
		tail = append([]string{v.Paths.line(d.glyphs)}, tail...)
	}
	if held := d.holdTable(); len(held) > 0 && !compact {
		tail = append(append(tail, ""), held...)
	}
	ports, flows := len(v.Ports), d.flowLines()
	if l.Height > 0 {
		// Besides the rows: two titles, and the empty lines before ports and flows.
		room := l.Height - len(out) - len(tail) - 2 - 2*len(space)
		if l.Footer != "" {
			room--
		}
		ports, flows = d.fit(room)
	}
	out = append(out, space...)
	out = append(out, d.portTable(ports)...)
	out = append(out, tail...)
	out = append(out, space...)
	return append(out, d.flowTable(flows)...)
}

// text makes the frame of lines; first, if not nil, colors the first line on a terminal of colors.
func (l Layout) text(out []string, first func(string) string) string {
	if l.Height > 0 {
		room := l.Height
		if l.Footer != "" {
			room--
		}
		out = out[:min(room, len(out))]
		if l.Footer != "" {
			out = append(out, make([]string, room-len(out))...)
			out = append(out, l.Footer)
		}
	}
	g := l.glyphs()
	var b strings.Builder
	for i, line := range out {
		line = l.clean(line)
		if l.Width > 0 {
			line = g.cut(line, l.Width)
		}
		if i == 0 && l.Color && first != nil {
			line = first(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// clean replaces characters that a terminal would obey or cannot show: rows may hold
// anything.
func (l Layout) clean(line string) string {
	line = text.Printable(line)
	if l.UTF8 {
		return line
	}
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, line)
}

// fit shares out lines between ports and flows: each may have half, and the rest that the
// other leaves.
func (d *drawing) fit(room int) (ports, flows int) {
	room = max(room, 2)
	ports, flows = len(d.view.Ports), d.flowLines()
	if ports+flows <= room {
		return ports, flows
	}
	ports = min(ports, max(room/2, room-flows))
	return ports, room - ports
}

// header returns the lines with the switch's name and state, and notes in at most a
// quarter of the height.
func (d *drawing) header() []string {
	v, height := d.view, d.layout.Height
	parts := []string{v.Host, v.Time.UTC().Format("15:04:05 UTC"), d.stateWord()}
	// there is no table of them
	if n := len(v.Holds); n > 0 && height > 0 && height < low {
		parts = append(parts, fmt.Sprintf("%d held", n))
	}
	if v.FlowLabel != "" {
		parts = append(parts, fmt.Sprintf("flow label %s (%s)", v.FlowLabel, v.Method))
	}
	if v.TrackedFlows.known {
		parts = append(parts, v.TrackedFlows.String()+" flows")
	}
	out := []string{strings.Join(parts, "  ")}
	if len(v.Needs) > 0 && (height == 0 || height >= low) {
		out = append(out, d.methods())
	}
	notes := d.notes()
	if most := max(2, height/4); height > 0 && len(notes) > most {
		left := len(notes) - most + 1
		notes = append(notes[:most-1], fmt.Sprintf(leftOutSay, left))
	}
	for _, note := range notes {
		out = append(out, "! "+note)
	}
	return out
}

// methods returns the method that each need uses, with the reason where it is a less
// preferred one.
func (d *drawing) methods() string {
	var parts, reasons []string
	for _, n := range d.view.Needs {
		part := n.Need + " " + n.Method
		switch {
		case n.State == "unproven":
			part += " (unproven)"
		case n.State == "active" && n.Reason != preferred:
			reasons = append(reasons, n.Reason)
		}
		parts = append(parts, part)
	}
	return strings.Join(append([]string{strings.Join(parts, ", ")}, reasons...), "; ")
}

// preferred is the reason of a method that is the first of its need.
const preferred = "preferred method available"

// notes returns the deviations from a sound state.
func (d *drawing) notes() []string {
	v := d.view
	var notes []string
	if v.Unread != "" {
		notes = append(notes, v.Unread)
	}
	if v.State == "" && v.Unread == "" {
		notes = append(notes, "sluiced does not run: SLUICE_STATE|global is not there; what follows is what it counted last")
	}
	if v.StaleSince != "" {
		notes = append(notes, "sluiced gave its last sign of life at "+v.StaleSince+": all that follows is as of then")
	} else if age := v.CountersAge; age.known && v.State != "" && age.value >= stale.Seconds() {
		notes = append(notes, fmt.Sprintf("the counters are %.0f s old: sluiced does not write any more", age.value))
	}
	notes = append(notes, v.Warnings...)
	if n := v.ConfigErrors; n.known && n.value > 0 {
		notes = append(notes, fmt.Sprintf("rows of CONFIG_DB that are not in force: %s; SLUICE_CONFIG_ERROR in STATE_DB says why", n))
	}
	if v.LastError != "" {
		notes = append(notes, v.LastError)
	}
	return notes
}

// unknown reports whether the databases have failed since the start.
func (d *drawing) unknown() bool {
	v := d.view
	return v.Unread != "" && v.State == "" && len(v.Ports) == 0
}

// stateWord returns the state of sluiced for the header.
func (d *drawing) stateWord() string {
	v := d.view
	switch {
	case d.unknown():
		return "unknown"
	case v.State == "":
		return "not running"
	case v.StaleSince != "":
		return "stale"
	default:
		return v.State
	}
}

const (
	// Colors, as escape sequences of ECMA-48 (SGR).
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// color colors the state in the first line.
func (d *drawing) color(line string) string {
	color, word := red, d.stateWord()
	switch word {
	case "running":
		color = green
	case "degraded", "starting", "disabled":
		color = yellow
	}
	return strings.Replace(line, "  "+word, "  "+color+word+plain, 1)
}

// line returns the evenness of the fabric ports: max ÷ mean over all of them, and over
// those that carry traffic, with a sparkline of the former.
func (p Paths) line(g glyphs) string {
	text := fmt.Sprintf("path share: max %s mean %s over the %d fabric ports", g.divided, p.WorstToMean.ratio(), p.Count)
	if p.Idle > 0 && p.Idle < p.Count {
		text += fmt.Sprintf(", %s over the %d that carry traffic", p.Carrying.ratio(), p.Count-p.Idle)
	}
	if line := g.sparkline(p.trend); line != "" {
		text += "  " + line
	}
	return text
}

// counts are the lines of SLUICE_STATS.
func (d *drawing) counts() []string {
	c := d.view.CPU
	var reasons []string
	for _, d := range c.Drops {
		reasons = append(reasons, d.Reason+" "+d.Rate.String())
	}
	return []string{
		fmt.Sprintf("labels/s  written %s, left as they were %s", c.Written, c.Skipped),
		fmt.Sprintf("CPU/s     copied %s, RoCEv2 %s, new flows %s; flows known %s", c.Copied, c.RoCE, c.NewFlows, c.Known),
		"dropped/s " + strings.Join(reasons, ", "),
	}
}
