// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"slices"

	"sluice/yang/rows"
)

const (
	wide       = 100 // columns from which on flows have both packets a second and octets
	wider      = 120 // and their Stream IDs and the ports that they come in by, where there are some
	portName   = 20  // columns of a port's name at most
	leastAddr  = 8   // columns of an address at least
	leftOutSay = "and %d more"
)

// portTable draws the ports in n lines, besides the titles: where they do not fit,
// those that carry most, in the order of their names.
func (v *View) portTable(g glyphs, n int) []string {
	switch {
	case len(v.Ports) > 0:
	case v.only != "":
		return []string{fmt.Sprintf("port %s has no counters: does a row of SLUICE_PORT name it?", v.only)}
	default:
		return []string{"no port has counters: is there a row of SLUICE_PORT?"}
	}
	shown := v.Ports
	if n < len(shown) {
		n = max(0, n-1) // the last line says how many are left out
		shown = busiest(shown, n)
	}
	c := []column{{title: "PORT", left: true}, {title: "ROLE", left: true}, {title: "RX-BIT/S"}, {title: "RX-PKT/S"}, {title: "TX-BIT/S"}, {title: "TX-PKT/S"}, {title: "SHARE", least: len("100.0%")}, {title: "BY-HASH", least: len("100.0%")}, {title: "QUEUE"}}
	depths, placed := false, false
	for _, p := range shown {
		role, queue := p.Role, "-"
		placed = placed || p.ByHash.known
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
			g.middle(p.Name, portName), role, p.RxBits.String(), p.RxPackets.String(), p.TxBits.String(), p.TxPackets.String(), p.Share.percent(), p.ByHash.percent(), queue,
		} {
			c[i].cells = append(c[i].cells, cell)
		}
	}
	if !depths { // the switch does not tell of its queues
		c = c[:len(c)-1]
	}
	if !placed { // no label is chosen
		c = slices.Delete(c, 7, 8)
	}
	out := lines(c)
	if left := len(v.Ports) - len(shown); left > 0 {
		out = append(out, fmt.Sprintf(leftOutSay, left))
	}
	return out
}

func busiest(ports []Port, n int) []Port {
	load := func(p Port) float64 { return p.RxBits.value + p.TxBits.value }
	heavy := slices.Clone(ports)
	slices.SortStableFunc(heavy, func(a, b Port) int { return cmp.Compare(load(b), load(a)) })
	heavy = heavy[:n]
	slices.SortFunc(heavy, func(a, b Port) int { return rows.Natural(a.Name, b.Name) })
	return heavy
}

// flowTable draws the flows in n lines, besides the titles.
func (v *View) flowTable(g glyphs, l Layout, n int) []string {
	if len(v.Flows) == 0 {
		return []string{v.noFlows()}
	}
	shown := v.Flows
	if n < v.flowLines() {
		shown = shown[:min(max(0, n-1), len(shown))]
	}
	titles := []string{"DEST-QP", "LABEL", "BIT/S", "PKT/S", "BYTES", "SHARE"}
	c := []column{{title: "SOURCE", left: true}, {title: "DESTINATION", left: true}}
	for _, t := range titles {
		c = append(c, column{title: t, least: len("100.0%")})
	}
	for _, f := range shown {
		for i, cell := range []string{
			f.Src, f.Dst, hexadecimal(f.DestQP, 6), hexadecimal(f.Label, 5),
			f.Bits.String(), f.Packets.String(), f.Bytes.String(), f.Share.percent(),
		} {
			c[i].cells = append(c[i].cells, cell)
		}
	}
	if inPort := ingress(g, shown); len(inPort.cells) > 0 && (l.Width == 0 || l.Width >= wider) {
		c = append(c, inPort)
	}
	if ids := streams(shown); ids != nil && (l.Width == 0 || l.Width >= wider) {
		c = slices.Insert(c, 4, column{title: "STREAM", cells: ids})
	}
	if l.Width > 0 && l.Width < wide {
		drop := 6 // BYTES
		if l.Order == ByBytes {
			drop = 5 // PKT/S
		}
		c = slices.Delete(c, drop, drop+1)
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
	if left := len(v.Flows) + v.more - len(shown); left > 0 {
		out = append(out, fmt.Sprintf(leftOutSay, left))
	}
	return out
}

// ingress is the column of the ports that flows come in by; without cells where no
// port is known.
func ingress(g glyphs, shown []Flow) column {
	c := column{title: "IN", left: true}
	known := false
	for _, f := range shown {
		known = known || f.Ingress != ""
		c.cells = append(c.cells, cmp.Or(g.middle(f.Ingress, portName), "-"))
	}
	if !known {
		c.cells = nil
	}
	return c
}

// streams are the Stream IDs of flows; nil: none has one.
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
func (v *View) flowLines() int {
	n := max(1, len(v.Flows))
	if v.more > 0 {
		n++ // that says so
	}
	return n
}

func sortedTitle(o Order) string {
	return map[Order]string{ByPackets: "PKT/S", ByBytes: "BYTES", ByQP: "DEST-QP", ByRate: "BIT/S"}[o]
}

// noFlows says why there are none.
func (v *View) noFlows() string {
	switch {
	case v.AllFlows > 0:
		return fmt.Sprintf("none of the %d flows names this port", v.AllFlows)
	case v.Method != "" && v.Method != "rewrite" && v.placement() != "entries":
		return fmt.Sprintf("no flows: the switch keeps flows only with method rewrite, and uses %s", v.Method)
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

func hexadecimal(n Number, digits int) string {
	if !n.known {
		return "-"
	}
	return fmt.Sprintf("0x%0*x", digits, int(n.value))
}
