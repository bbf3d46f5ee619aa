// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/run"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// Begin is the time at which each run begins.
var Begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	// heaviest is how many flows a leaf has in a frame.
	heaviest = 64
	// queue is that of the data: the usual priority of RDMA.
	queue = "3"
	// group is the name of the next hops of a leaf, and the prefix of the route to them.
	group = "fd00::/16"
)

// Maker makes the frames of one run. Rates are those since its frame before.
type Maker struct {
	at    time.Duration
	links []uint64         // octets
	flows map[int32]sender // by number of the queue pair
	holds map[network.Held]time.Duration
}

// Run runs a simulation, and calls add with a frame once in each interval of its time, and at its end.
func Run(ctx context.Context, s *run.Spec, every time.Duration, add func(*frame.Frame) error) (*run.Result, error) {
	watched, m := *s, &Maker{}
	watched.Every, watched.Watch = every, func(v *run.View) error { return add(m.Frame(v)) }
	return run.Do(ctx, &watched, nil)
}

// sender is the octets that a queue pair sent until the frame before.
type sender struct {
	dstQP, srcQP uint32
	octets       uint64
}

// leaf is a switch of a frame.
type leaf struct {
	number int
	of     *topology.Fabric
	ports  []port
	rows   []rows.Row
}

// port is a port of a leaf, with its links.
type port struct {
	name    string
	out, in int
	fabric  bool
}

// Frame returns the frame of a run's state.
func (m *Maker) Frame(v *run.View) *frame.Frame {
	f := &frame.Frame{At: Begin.Add(v.Now())}
	of := v.Topology()
	if m.links == nil {
		m.links = make([]uint64, len(of.Links))
	}
	flows := v.Flows()
	past := v.Now() - m.at
	rate := m.rates(flows, past)
	held := m.held(v)
	for n := range of.Leaves {
		l := &leaf{number: n, of: of, ports: portsOf(of, n)}
		sent := l.counters(v, m.links, past)
		l.flows(flows, rate, held)
		l.holds(flows, held)
		l.nextHops()
		l.placement(v, sent)
		l.state(v, flows, held)
		f.Switches = append(f.Switches, frame.Switch{Name: fmt.Sprint("leaf", n), At: f.At, Rows: frame.Sorted(l.rows)})
	}
	for i := range m.links {
		m.links[i] = v.Link(i).Octets
	}
	m.at = v.Now()
	return f
}

// portsOf returns the ports of a leaf: to its hosts, and to its spines.
func portsOf(of *topology.Fabric, n int) (all []port) {
	behind := func(link int) string {
		_, name, _ := strings.Cut(of.Links[link].Name, ">")
		return name
	}
	for h := range of.Hosts {
		if of.Leaf(h) == n {
			all = append(all, port{behind(of.Hosts + h), of.Hosts + h, h, false})
		}
	}
	for _, up := range of.Ups[n] {
		all = append(all, port{behind(int(up)), int(up), int(up) + 1, true}) // the way back is the next link
	}
	return all
}

// rates returns the rate of each flow since the frame before, Mbit/s, in their order.
func (m *Maker) rates(flows []run.Flow, past time.Duration) []uint64 {
	all := make([]uint64, len(flows))
	now := map[int32]sender{}
	for i := range flows {
		f := &flows[i]
		before, same := m.flows[f.Number]
		if !same || before.dstQP != f.DstQP || before.srcQP != f.SrcQP || before.octets > f.Octets {
			before = sender{} // the number is another connection's by now
		}
		if past > 0 {
			all[i] = uint64(float64(f.Octets-before.octets) * 8e3 / float64(past.Nanoseconds()))
		}
		now[f.Number] = sender{f.DstQP, f.SrcQP, f.Octets}
	}
	m.flows = now
	return all
}

// held returns the flows that are held, with the time of the first frame that had them, by switch.
func (m *Maker) held(v *run.View) map[int]map[network.Held]time.Duration {
	by := map[int]map[network.Held]time.Duration{}
	now := map[network.Held]time.Duration{}
	for _, h := range v.Held() {
		name := h
		name.Waiting = 0
		since, was := m.holds[name]
		if !was {
			since = v.Now()
		}
		now[name] = since
		if by[h.Switch] == nil {
			by[h.Switch] = map[network.Held]time.Duration{}
		}
		by[h.Switch][h] = since
	}
	m.holds = now
	return by
}

// add adds a row; fields are names and values in turn, less those whose value is "".
func (l *leaf) add(table, key string, fields ...string) {
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] != "" {
			r.Fields[fields[i]] = fields[i+1]
		}
	}
	l.rows = append(l.rows, r)
}

// text is a number as rows have it.
func text[N int | int64 | uint32 | uint64](n N) string { return fmt.Sprint(n) }

// counters adds the rows of ports and queues, and returns the rate of each port since the frame before,
// octets per second.
func (l *leaf) counters(v *run.View, before []uint64, past time.Duration) []uint64 {
	sent := make([]uint64, len(l.ports))
	// frames as ports count them: less preamble and gap
	octets := func(r network.LinkReport) string { return text(r.Octets - network.Gap*r.Packets) }
	for i, p := range l.ports {
		out, in := v.Link(p.out), v.Link(p.in)
		role := "edge"
		if p.fabric {
			role = "fabric"
		}
		l.add("PORT", p.name)
		l.add(telemetry.TablePortStats, p.name, "oper_status", "up", "role", role,
			"tx_packets", text(out.Packets), "tx_bytes", octets(out), "rx_packets", text(in.Packets), "rx_bytes", octets(in))
		l.add(telemetry.TableQueueStats, p.name+"|"+queue, "queued_bytes", text(out.Waiting), "watermark_bytes", text(out.Deepest),
			"packets", text(out.Packets), "bytes", octets(out), "dropped", text(out.Drops))
		if past > 0 {
			sent[i] = uint64(float64(out.Octets-before[p.out]) / past.Seconds())
		}
	}
	return sent
}

// portOf returns the name of the port of a link.
func (l *leaf) portOf(link int) string {
	for _, p := range l.ports {
		if p.out == link || p.in == link {
			return p.name
		}
	}
	return ""
}

// out is the link by which a flow leaves the leaf of its sender.
func (l *leaf) out(f *run.Flow) int {
	if p := &l.of.Paths[f.Path]; p.N > 0 {
		return int(p.Links[0])
	}
	return l.of.Hosts + f.Connection.Dst
}

// address is the address of a host.
func (l *leaf) address(host int) netip.Addr { return l.of.Address(host) }

// session are the fields of a flow that rows of flows and of holds have.
func (l *leaf) session(f *run.Flow) []string {
	return []string{"src", l.address(f.Connection.Src).String(), "dst", l.address(f.Connection.Dst).String(), "dest_qp", text(f.DstQP), "src_qp", text(f.SrcQP), "flow_label", text(f.Label)}
}

// key is the name of the row of a flow.
func (l *leaf) key(f *run.Flow) string {
	return fmt.Sprintf("%v,%v,%06x", l.address(f.Connection.Src), l.address(f.Connection.Dst), f.DstQP)
}

// flows adds the heaviest flows of the leaf's hosts, and all that it holds.
func (l *leaf) flows(all []run.Flow, rate []uint64, held map[int]map[network.Held]time.Duration) {
	isHeld := map[int32]bool{}
	for h := range held[l.number] {
		isHeld[h.QP] = true
	}
	var own []int
	for i := range all {
		if l.of.Leaf(all[i].Connection.Src) == l.number {
			own = append(own, i)
		}
	}
	slices.SortStableFunc(own, func(a, b int) int {
		return cmp.Or(compareTrue(isHeld[all[b].Number], isHeld[all[a].Number]), cmp.Compare(rate[b], rate[a]))
	})
	for i, n := range own {
		f := &all[n]
		if i >= heaviest && !isHeld[f.Number] {
			break
		}
		state, advised := "normal", ""
		if isHeld[f.Number] {
			state = "held"
		}
		if f.Advised > 0 {
			advised = text(f.Advised)
		}
		l.add(telemetry.TableFlow, l.key(f), append(l.session(f), "src_port", strconv.Itoa(int(f.SrcPort)), "ingress_port", l.portOf(f.Connection.Src), "egress_port", l.portOf(l.out(f)), "queue", queue,
			"packets", text(f.Packets), "bytes", text(f.Octets-network.Gap*f.Packets), "rate_mbps", text(rate[n]), "advised_mbps", advised, "state", state)...)
	}
}

// compareTrue compares truths: false is before true.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// holds adds the flows that the leaf holds.
func (l *leaf) holds(flows []run.Flow, held map[int]map[network.Held]time.Duration) {
	for h, since := range held[l.number] {
		at := slices.IndexFunc(flows, func(f run.Flow) bool { return f.Number == h.QP })
		if at < 0 {
			continue // its connection ended
		}
		f := &flows[at]
		l.add(telemetry.TableHold, fmt.Sprintf("%s,%s,%s", l.portOf(h.Link), l.key(f), queue), append(l.session(f), "message", "pfcm", "port", l.portOf(h.Link), "queue", queue,
			"action", "pause", "since", *telemetry.FineStamp(Begin.Add(since)), "state", "held", "waiting_bytes", text(h.Waiting))...)
	}
}

// nextHops adds the uplinks as the next hops to all other leaves.
func (l *leaf) nextHops() {
	n := 0
	for _, p := range l.ports {
		if p.fabric {
			l.add(telemetry.TableNextHop, fmt.Sprintf("%s|%d", group, n), "port", p.name, "weight", "1", "state", "up", "role", "fabric",
				"neighbor", p.name, "neighbor_port", fmt.Sprint("leaf", l.number))
			n++
		}
	}
}

// placement adds the group of uplinks, where labels are chosen.
func (l *leaf) placement(v *run.View, sent []uint64) {
	r, is := v.Placed(l.number)
	if !is {
		return
	}
	scope := "local"
	if slices.Contains(v.Spec().Features, "plan") {
		scope = "fabric"
	}
	l.add(telemetry.TablePlacementFabric, "global", "scope", scope, "leaf", fmt.Sprint("leaf", l.number))
	state := "active"
	if r.Degraded {
		state = "degraded"
	}
	placed := uint64(0)
	for _, n := range r.Placements {
		placed += n
	}
	l.add(telemetry.TablePlacementGroup, group, "state", state, "scope", scope, "model", r.Model, "flows", text(r.Flows), "moves", text(r.Moves), "placed", text(placed))
	n := 0
	for i, p := range l.ports {
		if p.fabric {
			l.add(telemetry.TablePlacementMember, group+"|"+p.name, "weight", "1.0", "measured_rate", text(sent[i]), "flows", text(r.On[n]))
			n++
		}
	}
}

// state adds the state of the daemon that the leaf has in effect.
func (l *leaf) state(v *run.View, flows []run.Flow, held map[int]map[network.Held]time.Duration) {
	has := func(features ...string) bool {
		return slices.ContainsFunc(features, func(f string) bool { return slices.Contains(v.Spec().Features, f) })
	}
	is := func(on bool) string {
		if on {
			return telemetry.Active
		}
		return telemetry.Off
	}
	label := telemetry.Inactive
	if has("label", "placement", "plan", "pfcm", "advice") {
		label = telemetry.Active
	}
	own := 0
	for i := range flows {
		if l.of.Leaf(flows[i].Connection.Src) == l.number {
			own++
		}
	}
	l.add(telemetry.TableState, "global", "state", telemetry.Running, "driver", "simulated", "since", *telemetry.Stamp(Begin), "flow_label", label,
		"placement", is(has("placement", "plan", "redirect")), "pfcm", is(has("pfcm")), "rate_advice", is(has("advice")),
		"flows", text(own), "holds", text(len(held[l.number])))
}
