// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// node is a switch while its picture is made. Names are as the rows have them.
type node struct {
	name    string
	index   int       // in the picture's list of switches, before that is sorted
	now     time.Time // by its clock
	tables  tables
	before  *before
	seconds float64 // between its counters and those before; 0: there are no rates
	roles   map[string]string
	channel map[string]string   // PortChannel of a port
	far     map[string]neighbor // by port or PortChannel
	gateway map[string]string   // name of the neighbor that has an address
	group   map[string]string   // first group of a port or PortChannel
}

// neighbor is the switch or host behind a port.
type neighbor struct{ name, port string }

// maker makes one picture.
type maker struct {
	*Picture
	nodes map[string]*node // that answered, by name
	flows map[string]*flow // by ID
	asked map[string]int   // holds, by switch and port
}

// Of returns the picture of a frame; rates are those since the frame before, which may be nil.
func Of(f, before *frame.Frame) *Picture {
	m := &maker{
		Picture: &Picture{At: f.At.UTC(), Switches: []Switch{}, Uplinks: []Uplink{}, Groups: []Group{}, Links: []Link{}, Queues: []Queue{}, Flows: []Flow{}, Holds: []*Hold{}, Advice: []Advice{}, Moves: []Move{}, Health: []Health{}},
		nodes:   map[string]*node{}, flows: map[string]*flow{}, asked: map[string]int{},
	}
	var all []*node
	for i := range f.Switches {
		s := &f.Switches[i]
		if s.Missing != "" || m.nodes[s.Name] != nil {
			m.Switches = append(m.Switches, Switch{Name: shown(s.Name), Address: shown(s.Address), Missing: shown(cmp.Or(s.Missing, "another switch has the same name"))})
			continue
		}
		n := newNode(s, f.At, beforeOf(before, s.Name))
		n.index = len(m.Switches)
		m.nodes[s.Name] = n
		all = append(all, n)
		m.Switches = append(m.Switches, n.state(s))
	}
	for _, n := range all {
		m.collect(n)
	}
	m.holds(all)
	for _, n := range all {
		m.uplinks(n)
		m.groups(n)
		m.queues(n)
	}
	m.links()
	m.list()
	m.sort()
	m.Of = Lengths{len(m.Queues), len(m.Flows), countHolds(m.Holds), len(m.Holds), len(m.Advice), len(m.Moves), len(m.Health)}
	return m.Picture
}

// newNode returns a switch with its ports and neighbors by its rows.
func newNode(s *frame.Switch, at time.Time, b *before) *node {
	n := &node{
		name: s.Name, now: timeOf(s, at), tables: tablesOf(s.Rows), before: b,
		roles: map[string]string{}, channel: map[string]string{}, far: map[string]neighbor{}, gateway: map[string]string{}, group: map[string]string{},
	}
	if b != nil {
		n.seconds = readAt(s, at).Sub(b.at).Seconds()
	}
	for _, r := range n.tables["SLUICE_PORT"] {
		n.roles[r.key] = cmp.Or(r.fields["role"], "fabric")
	}
	for _, r := range n.tables["SLUICE_PORT_STATS"] {
		if role := r.fields["role"]; role != "" {
			n.roles[r.key] = role
		}
	}
	for _, r := range n.tables["PORTCHANNEL_MEMBER"] {
		channel, port, _ := strings.Cut(r.key, "|")
		n.channel[port] = channel
	}
	for _, r := range n.tables["SLUICE_NEXT_HOP"] {
		port, name := r.fields["port"], r.fields["neighbor"]
		if name == "" {
			continue
		}
		if n.far[port].name == "" {
			n.far[port] = neighbor{name, r.fields["neighbor_port"]}
		}
		if g := r.fields["gateway"]; g != "" {
			n.gateway[g] = name
		}
	}
	for _, r := range n.tables["SLUICE_PLACEMENT_MEMBER"] {
		group, port := lastCut(r.key)
		if n.group[port] == "" {
			n.group[port] = group
		}
	}
	return n
}

// lastCut cuts a key of two parts, of which the first may have the separator in it.
func lastCut(key string) (first, last string) {
	i := strings.LastIndex(key, "|")
	if i < 0 {
		return "", key
	}
	return key[:i], key[i+1:]
}

// behind returns the neighbor behind a port.
func (n *node) behind(port string) neighbor {
	if far, ok := n.far[port]; ok {
		return far
	}
	return neighbor{name: n.far[n.channel[port]].name} // the port there is not known
}

// rate returns the growth of a counter of a row a second.
func (n *node) rate(table string, r keyed, field string) *float64 {
	then := n.before.row(table, r.key)
	return per(difference(r.count(field), then.count(field)), n.seconds)
}

// state returns the state of sluiced by its rows.
func (n *node) state(s *frame.Switch) Switch {
	f := n.tables.only("SLUICE_STATE")
	out := Switch{
		Name: shown(s.Name), Address: shown(s.Address), State: cmp.Or(f.text("state"), "not-running"), Warnings: f.sentences("warnings"), Error: f.text("last_error"),
		Holds: f.count("holds"), Flows: f.count("flows"),
	}
	if alive := f.time("alive"); !alive.IsZero() {
		age := max(0, n.now.Sub(alive).Seconds())
		out.Age, out.Stale = &age, n.now.Sub(alive) > telemetry.Silence
	}
	c := n.tables.only("SLUICE_CAPABILITY")
	for _, need := range []string{"flow_label", "placement", "hold", "threshold", "export"} {
		if m := c.text(need + "_method"); m != "" {
			out.Methods = append(out.Methods, Method{strings.ReplaceAll(need, "_", " "), m, c.text(need + "_state"), c.text(need + "_reason")})
		}
	}
	for _, role := range n.roles {
		out.Leaf = out.Leaf || role == "edge"
	}
	return out
}

// sort sorts the lists, the worst first.
func (m *maker) sort() {
	by := func(a, b string) int { return rows.Natural(a, b) }
	slices.SortStableFunc(m.Switches, func(a, b Switch) int {
		return cmp.Or(-cmp.Compare(badness(&a), badness(&b)), -cmp.Compare(value(a.WorstOver), value(b.WorstOver)), by(a.Name, b.Name))
	})
	slices.SortStableFunc(m.Uplinks, func(a, b Uplink) int { return cmp.Or(by(a.Switch, b.Switch), by(a.Port, b.Port)) })
	slices.SortStableFunc(m.Groups, func(a, b Group) int {
		return cmp.Or(-cmp.Compare(value(a.Worst), value(b.Worst)), by(a.Switch, b.Switch), by(a.Name, b.Name))
	})
	slices.SortStableFunc(m.Queues, func(a, b Queue) int {
		return cmp.Or(-cmp.Compare(value(a.Drops), value(b.Drops)), -cmp.Compare(value(a.Queued), value(b.Queued)), -cmp.Compare(value(a.Watermark), value(b.Watermark)),
			by(a.Switch, b.Switch), by(a.Port, b.Port), by(a.Queue, b.Queue))
	})
	slices.SortStableFunc(m.Flows, func(a, b Flow) int {
		return cmp.Or(-cmp.Compare(stateRank(a.State), stateRank(b.State)), -cmp.Compare(value(a.Mbps), value(b.Mbps)), cmp.Compare(a.Flow, b.Flow))
	})
	slices.SortStableFunc(m.Advice, func(a, b Advice) int {
		if a.NotFollowing != b.NotFollowing {
			if a.NotFollowing {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(value(a.Advised), value(b.Advised)), cmp.Compare(a.Flow, b.Flow), by(a.Switch, b.Switch))
	})
	slices.SortStableFunc(m.Moves, func(a, b Move) int { return cmp.Or(-cmp.Compare(a.At, b.At), cmp.Compare(a.Flow, b.Flow)) })
	slices.SortStableFunc(m.Health, func(a, b Health) int {
		return cmp.Or(-cmp.Compare(value(a.Lost), value(b.Lost)), -cmp.Compare(value(a.NAKs), value(b.NAKs)), -cmp.Compare(value(a.Retransmitted), value(b.Retransmitted)),
			-cmp.Compare(value(a.Marked), value(b.Marked)), -cmp.Compare(value(a.CNPs), value(b.CNPs)), cmp.Compare(a.Flow, b.Flow))
	})
}

// badness orders switches by their state.
func badness(s *Switch) int {
	switch {
	case s.Missing != "":
		return 4
	case s.State == "not-running" || s.Stale:
		return 3
	case s.State != "running":
		return 2
	case len(s.Warnings) > 0:
		return 1
	}
	return 0
}

// stateRank orders states of flows.
func stateRank(state string) int { return slices.Index([]string{"normal", "congested", "held"}, state) }
