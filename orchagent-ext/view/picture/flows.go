// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"slices"

	"sluice/yang/rows"
)

// flow is a flow while its picture is made.
type flow struct {
	Flow
	hops []hop
}

// hop is a flow at a switch.
type hop struct {
	node *node
	row  keyed
	Hop
}

// pairOf returns the ends of a flow by a row that has them.
func pairOf(id string, f fields) Pair {
	return Pair{Flow: shown(id), Src: f.text("src"), Dst: f.text("dst"), DestQP: f.count("dest_qp")}
}

// collect takes the flows of a switch, with advice, moves and health.
func (m *maker) collect(n *node) {
	for _, r := range n.tables["SLUICE_FLOW"] {
		f := m.flows[r.key]
		if f == nil {
			f = &flow{Flow: Flow{Pair: pairOf(r.key, r.fields)}}
			m.flows[r.key] = f
		}
		h := Hop{
			Switch: shown(n.name), In: r.text("ingress_port"), Out: r.text("egress_port"), Path: r.text("path"), Queue: r.text("queue"),
			Queued: r.count("queue_bytes"), Label: r.count("flow_label"), State: r.text("state"), Notified: r.text("notified_neighbor"), Mbps: n.flowRate(r),
		}
		f.hops = append(f.hops, hop{n, r, h})
		f.SrcQP = cmp.Or(f.SrcQP, r.count("src_qp"))
		f.Mbps, f.Queued = most(f.Mbps, h.Mbps), sum(f.Queued, h.Queued)
		if stateRank(h.State) > stateRank(f.State) {
			f.State = h.State
		}
		if advised := r.count("advised_mbps"); advised != nil {
			a := Advice{Switch: h.Switch, Pair: f.Pair, Advised: advised, Mbps: h.Mbps, NotFollowing: r.fields["not_following"] == "true"}
			f.Advised, f.NotFollowing = advised, f.NotFollowing || a.NotFollowing
			m.Advice = append(m.Advice, a)
		}
		m.move(n, r, f.Pair, h)
	}
}

// flowRate returns the rate of a flow, Mbit/s: as its row has it, else by its octets.
func (n *node) flowRate(r keyed) *float64 {
	if rate := r.number("rate_mbps"); rate != nil {
		return rate
	}
	now, known := r.carried()
	then, knew := n.before.row("SLUICE_FLOW", r.key).carried()
	if !known || !knew {
		return nil
	}
	return mbps(per(difference(&now, &then), n.seconds))
}

// move adds that a flow got another label.
func (m *maker) move(n *node, r keyed, of Pair, h Hop) {
	moved := r.text("moved_at")
	if moved == "" {
		return
	}
	v := Move{Switch: h.Switch, Pair: of, At: moved, Label: h.Label, Path: cmp.Or(h.Path, h.Out)}
	if then := n.before.row("SLUICE_FLOW", r.key); then != nil {
		if label := then.count("flow_label"); label != nil && value(label) != value(h.Label) {
			v.LabelBefore = label
		}
		if path := cmp.Or(then.text("path"), then.text("egress_port")); path != v.Path {
			v.PathBefore = path
		}
	}
	m.Moves = append(m.Moves, v)
}

// list adds the flows, with the switches in the order of their paths, and how they fare.
func (m *maker) list() {
	for _, f := range m.flows {
		for _, h := range ordered(f.hops) {
			f.Hops = append(f.Hops, h.Hop)
		}
		f.Label = f.Hops[0].Label
		m.Flows = append(m.Flows, f.Flow)
		if h, seen := healthOf(f); seen {
			m.Health = append(m.Health, h)
		}
	}
}

// ordered returns the switches of a flow in the order of its path, as far as neighbors are known.
func ordered(all []hop) []hop {
	slices.SortStableFunc(all, func(a, b hop) int { return rows.Natural(a.node.name, b.node.name) })
	follows := func(a, b *hop) bool { // whether b is behind a
		return a.node != b.node && (a.node.behind(a.row.fields["egress_port"]).name == b.node.name || b.node.behind(b.row.fields["ingress_port"]).name == a.node.name)
	}
	out := make([]hop, 0, len(all))
	for left := all; len(left) > 0; {
		next := slices.IndexFunc(left, func(b hop) bool {
			if len(out) > 0 {
				return follows(&out[len(out)-1], &b)
			}
			return !slices.ContainsFunc(left, func(a hop) bool { return follows(&a, &b) })
		})
		if next < 0 && len(out) > 0 { // a gap: the first of the rest that no other leads to
			next = slices.IndexFunc(left, func(b hop) bool { return !slices.ContainsFunc(left, func(a hop) bool { return follows(&a, &b) }) })
		}
		next = max(next, 0) // a circle begins anywhere
		out = append(out, left[next])
		left = slices.Delete(slices.Clone(left), next, next+1)
	}
	return out
}

// refusals are the reasons of NAKs, as leaves of SLUICE_FLOW.
var refusals = []string{"naks_rnr", "naks_sequence", "naks_invalid", "naks_access", "naks_operation", "naks_other"}

// healthOf returns how a flow fares by the switch that saw most of it. seen: there is one.
func healthOf(f *flow) (h Health, seen bool) {
	var best *hop
	for i := range f.hops {
		if n := value(f.hops[i].row.count("seen_packets")); n > 0 && (best == nil || n > value(best.row.count("seen_packets"))) {
			best = &f.hops[i]
		}
	}
	if best == nil {
		return h, false
	}
	r := best.row
	h = Health{
		Switch: best.Switch, Pair: f.Pair, Seen: r.count("seen_packets"), SamplingRate: r.count("sampling_rate"), CNPs: r.count("cnps"),
		Lost: r.count("psn_lost"), Reordered: r.count("psn_reordered"), Duplicates: r.count("psn_duplicates"), Retransmitted: r.count("retransmitted_bytes"), Goodput: r.number("goodput_mbps"),
	}
	if ce := r.count("ce_packets"); ce != nil {
		percent := 100 * float64(*ce) / float64(*h.Seen)
		h.Marked = &percent
	}
	for _, why := range refusals {
		h.NAKs = sum(h.NAKs, r.count(why))
	}
	return h, true
}
