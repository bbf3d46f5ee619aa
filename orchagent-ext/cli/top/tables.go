// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/yang/rows"
)

// Widths in characters from which on a frame has further columns, and bounds of columns.
const (
	wide = 100 // columns from which on flows have both packets a second and octets
	// wider: and their Stream IDs and the ports that they come in by, where there are some
	wider    = 120
	portName = 20 // columns of a port's name at most
	// goodAddr: columns of an address, for which other columns are left out
	goodAddr   = 16
	leastAddr  = 8 // of an address at least
	leftOutSay = "and %d more"
)

// portTable draws the ports in n lines, besides the titles: if the lines are fewer than
// the ports, those that carry most, in the order of their names.
func (d *drawing) portTable(n int) []string {
	v, g, l := d.view, d.glyphs, d.layout
	switch {
	case len(v.Ports) > 0:
	case v.only != "":
		return []string{fmt.Sprintf("port %s has no counters: does a row of SLUICE_PORT name it?", v.only)}
	default:
		return []string{"no port has counters: is there a row of SLUICE_PORT?"}
	}
	shown := v.Ports
	if n < len(shown) {
		n = max(0, n-1) // the last line counts those left out
		shown = busiest(shown, n)
	}
	c := []column{{title: "PORT", left: true}, {title: "ROLE", left: true}, {title: "LINK", left: true}, {title: "RX-BIT/S"}, {title: "RX-PKT/S"}, {title: "TX-BIT/S"}, {title: "TX-PKT/S"}, {title: "SHARE", least: len("100.0%")}, {title: "BY-HASH", least: len("100.0%")}, {title: "QUEUE"}}
	depths, placed, links := false, false, false
	for _, p := range shown {
		role, queue := p.Role, "-"
		placed, links = placed || p.ByHash.known, links || p.Link != ""
		if role == "" {
			role = "-"
		}
		if p.Queue != nil {
			depths = true
			if p.Queue.Watermark.known {
				c[len(c)-1].title = "QUEUE-MAX"
			}
			queue = fmt.Sprintf("%s q%s", p.Queue.depth(), p.Queue.Number)
		}
		for i, cell := range []string{
			g.middle(p.Name, portName), role, cmp.Or(p.Link, "-"), p.RxBits.String(), p.RxPackets.String(), p.TxBits.String(), p.TxPackets.String(), p.Share.percent(), p.ByHash.percent(), queue,
		} {
			c[i].cells = append(c[i].cells, cell)
		}
	}
	if bars := d.bars(shown); bars != nil {
		i := slices.IndexFunc(c, func(one column) bool { return one.title == "SHARE" })
		c = slices.Insert(c, i+1, column{title: "UPLINK", left: true, least: barWidth, cells: bars})
	}
	if !depths { // the switch hides its queues
		c = c[:len(c)-1]
	}
	c = slices.DeleteFunc(c, func(one column) bool {
		return one.title == "BY-HASH" && !placed || one.title == "LINK" && !links // labels are all hashed
	})
	if l.Width > 0 {
		c = drop(c, l.Width, column.width, "RX-PKT/S", "TX-PKT/S", "BY-HASH", "ROLE", "QUEUE", "QUEUE-MAX", "UPLINK", "SHARE")
	}
	out := lines(c)
	if left := len(v.Ports) - len(shown); left > 0 {
		out = append(out, fmt.Sprintf(leftOutSay, left))
	}
	return out
}

// busiest returns the n ports with the highest rate in both directions together, in the
// order of their names.
func busiest(ports []Port, n int) []Port {
	load := func(p Port) float64 { return p.RxBits.value + p.TxBits.value }
	heavy := slices.Clone(ports)
	slices.SortStableFunc(heavy, func(a, b Port) int { return cmp.Compare(load(b), load(a)) })
	heavy = heavy[:n]
	slices.SortFunc(heavy, func(a, b Port) int { return rows.Natural(a.Name, b.Name) })
	return heavy
}

// flowTable draws the flows in n lines, besides the titles.
func (d *drawing) flowTable(n int) []string {
	v, g, l := d.view, d.glyphs, d.layout
	if len(v.Flows) == 0 {
		return []string{d.noFlows()}
	}
	shown := v.Flows
	if n < d.flowLines() {
		shown = shown[:min(max(0, n-1), len(shown))]
	}
	c := []column{{title: "SOURCE", left: true}, {title: "DESTINATION", left: true}}
	add := func(title string, least int, cell func(Flow) string) {
		one := column{title: title, least: least, left: least == 0}
		for _, f := range shown {
			one.cells = append(one.cells, cell(f))
		}
		c = append(c, one)
	}
	some := func(known func(Flow) bool) bool { return slices.ContainsFunc(shown, known) }
	const least = len("100.0%")
	for _, f := range shown {
		c[0].cells, c[1].cells = append(c[0].cells, f.Src), append(c[1].cells, f.Dst)
	}
	add("DEST-QP", least, func(f Flow) string { return hexadecimal(f.DestQP, 6) })
	add("LABEL", least, func(f Flow) string { return hexadecimal(f.Label, 5) })
	add("BIT/S", least, func(f Flow) string { return f.Bits.String() })
	add("PKT/S", least, func(f Flow) string { return f.Packets.String() })
	add("BYTES", least, func(f Flow) string { return f.Bytes.String() })
	add("SHARE", least, func(f Flow) string { return f.Share.percent() })
	if some(func(f Flow) bool { return f.CE.known }) {
		add("CE", least, func(f Flow) string { return f.CE.percent() })
	}
	if some(func(f Flow) bool { return f.Resent.known }) {
		add("RESENT", least, func(f Flow) string { return f.Resent.String() })
	}
	if some(func(f Flow) bool { return f.Ingress != "" }) && (l.Width == 0 || l.Width >= wider || l.Order == ByPort) {
		add("IN", 0, func(f Flow) string { return cmp.Or(g.middle(f.Ingress, portName), "-") })
	}
	if some(func(f Flow) bool { return f.Egress != "" }) {
		add("OUT", 0, func(f Flow) string { return cmp.Or(g.middle(f.Egress, portName), "-") })
	}
	if ids := streams(shown); ids != nil && (l.Width == 0 || l.Width >= wider) {
		c = append(c, column{title: "STREAM", cells: ids})
	}
	if l.Width > 0 {
		less := []string{"STREAM", "IN", "SHARE", "LABEL", "PKT/S", "RESENT", "OUT", "CE"}
		if l.Width < wide {
			other := "BYTES"
			if l.Order == ByBytes {
				other = "PKT/S"
			}
			c = slices.DeleteFunc(c, func(one column) bool { return one.title == other })
		}
		less = slices.DeleteFunc(less, func(title string) bool { return title == sortedTitle(l.Order) })
		// 1: the star behind a title
		c = drop(c, l.Width-1, func(one column) int {
			if one.title == "SOURCE" || one.title == "DESTINATION" {
				return min(one.width(), goodAddr)
			}
			return one.width()
		}, less...)
	}
	if l.Width > 0 {
		shorten(g, c, l.Width)
	}
	for i := range c {
		if c[i].title == sortedTitle(l.Order) {
			c[i].title += "*"
		}
	}
	out := lines(c)
	left := ""
	if n := len(v.Flows) + v.more - len(shown); n > 0 {
		left = fmt.Sprintf(leftOutSay, n)
	}
	if v.above > 0 {
		left = strings.TrimPrefix(fmt.Sprintf("%s, %d above", left, v.above), ", ")
	}
	if left != "" {
		out = append(out, left)
	}
	return out
}

// streams returns the Stream IDs of flows, or nil where all of them lack one.
func streams(flows []Flow) []string {
	if !slices.ContainsFunc(flows, func(f Flow) bool { return f.Stream.known }) {
		return nil
	}
	var ids []string
	for _, f := range flows {
		id := "-"
		if f.Stream.known {
			id = fmt.Sprintf("%.0f", f.Stream.value)
		}
		ids = append(ids, id)
	}
	return ids
}

// flowLines is how many lines all flows take, without the titles.
func (d *drawing) flowLines() int {
	v := d.view
	n := max(1, len(v.Flows))
	if v.more > 0 || v.above > 0 {
		n++ // that shows it
	}
	return n
}

// sortedTitle returns the title of the column by which flows are sorted.
func sortedTitle(o Order) string {
	return map[Order]string{ByPackets: "PKT/S", ByBytes: "BYTES", ByQP: "DEST-QP", ByRate: "BIT/S", ByPort: "IN"}[o]
}

// noFlows returns the reason of an empty list of flows.
func (d *drawing) noFlows() string {
	v := d.view
	switch {
	case v.AllFlows > 0 && v.search != "":
		return fmt.Sprintf("none of the %d flows has %q in its addresses, ports or queue pair", v.AllFlows, v.search)
	case v.AllFlows > 0:
		return fmt.Sprintf("none of the %d flows names this port", v.AllFlows)
	case v.Method != "" && v.Method != "rewrite" && v.placement() != "entries":
		return fmt.Sprintf("no flows: method %s keeps none, and no sample came lately; SLUICE_IPFIX|global admin_state=enabled samples all ports, also without a collector", v.Method)
	default:
		return "no flows"
	}
}

// shorten makes the two columns of addresses fit, the longer one first.
func shorten(g glyphs, c []column, room int) {
	for i, col := range c {
		if i > 0 {
			room -= 2
		}
		if i >= 2 {
			room -= col.width()
		}
	}
	room-- // the star behind a title
	src, dst := c[0].width(), c[1].width()
	for src+dst > room && max(src, dst) > leastAddr {
		if src >= dst {
			src--
		} else {
			dst--
		}
	}
	for i, to := range []int{src, dst} {
		c[i].title = g.cut(c[i].title, to)
		for j, cell := range c[i].cells {
			c[i].cells[j] = g.middle(cell, to)
		}
	}
}

// hexadecimal returns a number with 0x and at least so many digits; "-" for an unknown
// one.
func hexadecimal(n Number, digits int) string {
	if !n.known {
		return "-"
	}
	return fmt.Sprintf("0x%0*x", digits, int(n.value))
}
