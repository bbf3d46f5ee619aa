// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"slices"
	"strings"

	"sluice/yang/rows"
)

// How a hold was joined to that above it.
const (
	byNeighbor = "neighbor" // the port's neighbor has the flow, and asked for the hold
	byFlow     = "flow"     // only one other switch asked for this flow; the neighbor is not known
)

// waiting is a flow that waits at a switch, while the trees are made.
type waiting struct {
	*Hold
	node   *node
	key    string // of the flow, by [keyOf]
	stream string
	port   string // that the flow leaves by
	from   string // who asked
	asks   bool   // whether its switch asked a neighbor in turn
	above  *waiting
	below  []*waiting
}

// holds adds the trees of who asked whom. A hold at a switch, by a message that came in by a port,
// is below the same flow at the neighbor behind this port, whose switch asked for it.
func (m *maker) holds(all []*node) {
	var list []*waiting
	for _, n := range all {
		list = append(list, m.waitingAt(n)...)
	}
	asked := newAskers(list)
	for _, w := range list {
		if w.Message != "" {
			w.join(asked)
		}
	}
	for _, w := range list {
		if w.inCircle() {
			w.above = nil
		}
	}
	for _, w := range list {
		if w.above != nil {
			w.above.below = append(w.above.below, w)
		}
	}
	for _, w := range list {
		if w.above == nil && (w.Message != "" || w.asks) {
			m.Holds = append(m.Holds, w.tree())
		}
	}
	slices.SortStableFunc(m.Holds, func(a, b *Hold) int {
		return cmp.Or(-cmp.Compare(countHolds([]*Hold{a}), countHolds([]*Hold{b})), rows.Natural(a.Switch, b.Switch), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Flow, b.Flow))
	})
}

// keyOf names a flow by the fields that rows of SLUICE_FLOW and of SLUICE_HOLD have; "": the row
// does not name its flow.
func keyOf(f fields) string {
	if f["src"] == "" || f["dst"] == "" {
		return ""
	}
	return strings.Join([]string{f["src"], f["dst"], f["dest_qp"]}, ",")
}

// waitingAt returns the flows that wait at a switch: those that are held, and those that it asked a
// neighbor to hold.
func (m *maker) waitingAt(n *node) (all []*waiting) {
	flows := map[string]keyed{}
	for _, r := range n.tables["SLUICE_FLOW"] {
		if key := keyOf(r.fields); key != "" {
			flows[key] = r
		}
	}
	held := map[string]bool{}
	for _, r := range n.tables["SLUICE_HOLD"] {
		f := r.fields
		m.asked[place(n.name, f["port"])]++
		w := &waiting{node: n, key: keyOf(f), stream: f["stream_id"], port: f["port"], from: f["from"]}
		of := flows[w.key]
		w.Hold = &Hold{
			Switch: shown(n.name), Pair: pairOf(cmp.Or(of.key, w.key), f), Port: f.text("port"), Queue: f.text("queue"), Stream: f.text("stream_id"), State: f.text("state"),
			Message: cmp.Or(f.text("message"), "pfcm"), From: f.text("from"), Action: f.text("action"), Reduction: f.count("reduction"), Since: f.text("since"), Until: f.text("until"),
			Waiting: f.count("waiting_bytes"), Dropped: f.count("dropped"), Method: f.text("method"), Reason: f.text("reason"),
		}
		w.FromSwitch = shown(cmp.Or(n.gateway[w.from], n.behind(w.port).name))
		w.asks, w.Notified = of.fields["notified_neighbor"] != "", of.text("notified_neighbor")
		if w.key != "" {
			held[w.key] = true
		}
		w.age(f)
		all = append(all, w)
	}
	for _, r := range n.tables["SLUICE_FLOW"] {
		f := r.fields
		if held[keyOf(f)] || f["notified_neighbor"] == "" {
			continue
		}
		w := &waiting{node: n, key: keyOf(f), stream: f["stream_id"], port: f["egress_port"], asks: true}
		w.Hold = &Hold{
			Switch: shown(n.name), Pair: pairOf(r.key, f), Port: f.text("egress_port"), Queue: f.text("queue"), Stream: f.text("stream_id"), State: f.text("state"),
			Notified: f.text("notified_neighbor"), Since: f.text("since"), Waiting: f.count("queue_bytes"), Method: f.text("method"),
		}
		w.age(f)
		all = append(all, w)
	}
	return all
}

// age sets for how long the flow waits.
func (w *waiting) age(f fields) {
	if since := f.time("since"); !since.IsZero() {
		s := max(0, w.node.now.Sub(since).Seconds())
		w.Seconds = &s
	}
}

// askers are the flows whose switches asked a neighbor, by their keys and by their Stream IDs.
type askers struct{ byKey, byStream map[string][]*waiting }

// newAskers sorts flows.
func newAskers(all []*waiting) askers {
	a := askers{map[string][]*waiting{}, map[string][]*waiting{}}
	for _, w := range all {
		if !w.asks {
			continue
		}
		if w.key != "" {
			a.byKey[w.key] = append(a.byKey[w.key], w)
		}
		if w.stream != "" {
			a.byStream[w.stream] = append(a.byStream[w.stream], w)
		}
	}
	return a
}

// join finds the flow whose switch asked for a hold.
func (w *waiting) join(a askers) {
	far := cmp.Or(w.node.behind(w.port).name, w.node.gateway[w.from])
	same := a.byKey[w.key]
	if w.key == "" {
		same = a.byStream[w.stream]
	}
	var found []*waiting
	for _, o := range same {
		switch near := w.Message == "pfcm" && far != ""; {
		case o.node == w.node:
		case near && o.node.name == far:
			w.above, w.Joined = o, byNeighbor
			return
		case !near:
			found = append(found, o)
		}
	}
	if len(found) == 1 && w.key != "" {
		w.above, w.Joined = found[0], byFlow
	}
}

// inCircle reports whether a hold is above itself.
func (w *waiting) inCircle() bool {
	seen := map[*waiting]bool{}
	for o := w.above; o != nil && !seen[o]; o = o.above {
		if o == w {
			return true
		}
		seen[o] = true
	}
	return false
}

// tree returns a hold with those below it.
func (w *waiting) tree() *Hold {
	slices.SortStableFunc(w.below, func(a, b *waiting) int { return rows.Natural(a.node.name, b.node.name) })
	for _, b := range w.below {
		w.Below = append(w.Below, b.tree())
	}
	if w.above == nil {
		w.Joined = ""
	}
	return w.Hold
}

// countHolds counts the holds in trees.
func countHolds(all []*Hold) (n int) {
	for _, h := range all {
		if h.Message != "" {
			n++
		}
		n += countHolds(h.Below)
	}
	return n
}
