// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"slices"
	"strings"

	"sluice/yang/rows"
)

// uplinks adds the ports of role fabric of a switch, and sums them up at the switch.
func (m *maker) uplinks(n *node) {
	var all []Uplink
	var total float64
	up := 0
	queues := n.fullest()
	ce, flows := n.ofPorts()
	for _, r := range n.tables["SLUICE_PORT_STATS"] {
		if n.roles[r.key] != "fabric" {
			continue
		}
		far := n.behind(r.key)
		q := queues[r.key]
		u := Uplink{
			Switch: shown(n.name), Port: shown(r.key), Neighbor: shown(far.name), NeighborPort: shown(far.port),
			Group: shown(cmp.Or(n.group[r.key], n.group[n.channel[r.key]])),
			Mbps:  mbps(n.rate("SLUICE_PORT_STATS", r, "tx_bytes")), BackMbps: mbps(n.rate("SLUICE_PORT_STATS", r, "rx_bytes")),
			CE: ce[r.key], Drops: q.drops, Queued: q.queued, Watermark: q.watermark, Flows: flows[r.key], Held: m.asked[place(n.name, r.key)],
		}
		if status := r.fields["oper_status"]; status != "" {
			is := status == "up"
			u.Up = &is
		}
		if u.Mbps != nil && (u.Up == nil || *u.Up) {
			total += *u.Mbps
			up++
		}
		all = append(all, u)
	}
	var worst *float64
	for i := range all {
		if u := &all[i]; u.Mbps != nil && total > 0 {
			over := *u.Mbps * float64(up) / total
			u.OverMean = &over
			worst = most(worst, u.OverMean)
		}
	}
	m.Uplinks = append(m.Uplinks, all...)
	m.Switches[n.index].Uplinks, m.Switches[n.index].WorstOver = len(all), worst
}

// place is the name of a port of a switch. No name of a port has a line's end.
func place(name, port string) string { return name + "\n" + port }

// fullness is how full the queues of a port are.
type fullness struct {
	queued, watermark *uint64
	drops             *float64
}

// fullest returns the fullest queue of each port, and the drops of all of its queues.
func (n *node) fullest() map[string]fullness {
	all := map[string]fullness{}
	for _, r := range n.tables["SLUICE_QUEUE_STATS"] {
		port, _, _ := strings.Cut(r.key, "|")
		q := all[port]
		q.queued, q.watermark = most(q.queued, r.count("queued_bytes")), most(q.watermark, r.count("watermark_bytes"))
		q.drops = sum(q.drops, n.rate("SLUICE_QUEUE_STATS", r, "dropped"))
		all[port] = q
	}
	return all
}

// ofPorts returns the packets with CE a second and the number of the flows that leave by ports.
func (n *node) ofPorts() (ce map[string]*float64, flows map[string]int) {
	ce, flows = map[string]*float64{}, map[string]int{}
	for _, r := range n.tables["SLUICE_FLOW"] {
		port := cmp.Or(r.fields["egress_port"], r.fields["path"])
		if port == "" {
			continue
		}
		flows[port]++
		then := n.before.row("SLUICE_FLOW", r.key)
		if d := difference(r.count("ce_packets"), then.count("ce_packets")); d != nil {
			whole := r.estimated(*d)
			ce[port] = sum(ce[port], per(&whole, n.seconds))
		}
	}
	return ce, flows
}

// groups adds the groups of next hops of a switch.
func (m *maker) groups(n *node) {
	members := map[string][]string{}
	for _, r := range n.tables["SLUICE_PLACEMENT_MEMBER"] {
		group, port := lastCut(r.key)
		members[group] = append(members[group], shown(port))
	}
	for _, r := range n.tables["SLUICE_PLACEMENT_GROUP"] {
		then := n.before.row("SLUICE_PLACEMENT_GROUP", r.key)
		ports := members[r.key]
		slices.SortFunc(ports, rows.Natural)
		m.Groups = append(m.Groups, Group{
			Switch: shown(n.name), Name: shown(r.key), State: r.text("state"), Reason: r.text("reason"),
			Worst: r.number("worst_over_mean"), ByHash: r.number("hash_worst_over_mean"), Floor: r.number("floor"),
			Flows: r.count("flows"), Moves: r.count("moves"), Moved: difference(r.count("moves"), then.count("moves")), Members: ports,
		})
	}
}

// mostElephants is how many flows of a queue a picture has.
const mostElephants = 8

// queues adds the queues of a switch that have had packets.
func (m *maker) queues(n *node) {
	elephants := map[string][]Elephant{}
	for _, r := range n.tables["SLUICE_FLOW"] {
		port, queue := r.fields["egress_port"], r.fields["queue"]
		if port == "" || queue == "" {
			continue
		}
		if queued := r.count("queue_bytes"); value(queued) > 0 || stateRank(r.fields["state"]) > 0 {
			k := port + "|" + queue
			elephants[k] = append(elephants[k], Elephant{pairOf(r.key, r.fields), queued, r.text("state")})
		}
	}
	for _, r := range n.tables["SLUICE_QUEUE_STATS"] {
		port, queue, _ := strings.Cut(r.key, "|")
		q := Queue{
			Switch: shown(n.name), Port: shown(port), Queue: shown(queue), Role: shown(n.roles[port]), Neighbor: shown(n.behind(port).name),
			Queued: r.count("queued_bytes"), Watermark: r.count("watermark_bytes"), Packets: r.count("packets"), Dropped: r.count("dropped"),
			Drops: n.rate("SLUICE_QUEUE_STATS", r, "dropped"), Mbps: mbps(n.rate("SLUICE_QUEUE_STATS", r, "bytes")), Elephants: elephants[r.key],
		}
		if value(q.Packets) == 0 && value(q.Dropped) == 0 && value(q.Queued) == 0 && q.Elephants == nil {
			continue
		}
		slices.SortStableFunc(q.Elephants, func(a, b Elephant) int { return -cmp.Compare(value(a.Queued), value(b.Queued)) })
		q.Elephants = q.Elephants[:min(len(q.Elephants), mostElephants)]
		m.Queues = append(m.Queues, q)
	}
}

// links adds the links of the uplinks, each once: the ends that two switches show are one link
// where the port there is known. They go from leaves to others.
func (m *maker) links() {
	leaf := map[string]bool{}
	for i := range m.Switches {
		leaf[m.Switches[i].Name] = m.Switches[i].Leaf
	}
	ordered := slices.Clone(m.Uplinks)
	slices.SortStableFunc(ordered, func(a, b Uplink) int {
		if leaf[a.Switch] != leaf[b.Switch] {
			if leaf[a.Switch] {
				return -1
			}
			return 1
		}
		return cmp.Or(rows.Natural(a.Switch, b.Switch), rows.Natural(a.Port, b.Port))
	})
	there := map[[2]End]int{}
	for i := range ordered {
		u := &ordered[i]
		from, to := End{u.Switch, u.Port}, End{u.Neighbor, u.NeighborPort}
		if k, known := there[[2]End{to, from}]; known && to.Port != "" {
			l := &m.Links[k]
			l.OverMean, l.Held = most(l.OverMean, u.OverMean), l.Held+u.Held
			if u.Mbps != nil {
				l.BackMbps = u.Mbps
			}
			if u.Up != nil && !*u.Up {
				l.Up = u.Up
			}
			continue
		}
		there[[2]End{from, to}] = len(m.Links)
		m.Links = append(m.Links, Link{From: from, To: to, Up: u.Up, Mbps: u.Mbps, BackMbps: u.BackMbps, OverMean: u.OverMean, Held: u.Held})
	}
}
