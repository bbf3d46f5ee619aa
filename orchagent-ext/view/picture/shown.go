// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"slices"
	"strconv"
	"strings"
)

// Wanted selects parts of a picture.
type Wanted struct {
	// Find chooses by an address or a part of one, a queue pair (decimal or 0x…), or the name of a
	// switch or a port; "": all.
	Find string
	// Flow, and the flows of Port of Switch, are always shown where they are known. Port "": all of
	// the switch.
	Flow, Switch, Port string
	Most               int // entries of each long list
}

// Shown returns the wanted parts of a picture. Switches, uplinks, groups and links stay, as the map
// needs them. The lists are cut; those of p stay as they are.
func (p *Picture) Shown(w Wanted) *Picture {
	out := *p
	q, most := newQuery(w.Find), w.Most
	out.Queues = cut(p.Queues, most, func(v *Queue) bool {
		return q.text(v.Switch) || q.text(v.Port) || q.text(v.Neighbor) || slices.ContainsFunc(v.Elephants, func(e Elephant) bool { return q.pair(&e.Pair) })
	})
	out.Flows = cut(p.Flows, most, w.chosen)
	out.Flows = append(out.Flows, cut(p.Flows, most-len(out.Flows), func(v *Flow) bool {
		return !w.chosen(v) && (q.pair(&v.Pair) || q.qp(v.SrcQP) || slices.ContainsFunc(v.Hops, func(h Hop) bool { return q.text(h.Switch) || q.text(h.In) || q.text(h.Out) }))
	})...)
	out.Holds = []*Hold{}
	for _, h := range p.Holds {
		if q.tree(h) {
			out.Holds = append(out.Holds, h)
		}
	}
	out.Holds = out.Holds[:min(len(out.Holds), most)]
	out.Advice = cut(p.Advice, most, func(v *Advice) bool { return q.text(v.Switch) || q.pair(&v.Pair) })
	out.Moves = cut(p.Moves, most, func(v *Move) bool { return q.text(v.Switch) || q.pair(&v.Pair) })
	out.Health = cut(p.Health, most, func(v *Health) bool { return q.text(v.Switch) || q.pair(&v.Pair) })
	return &out
}

// chosen reports whether a flow is shown in any case.
func (w *Wanted) chosen(f *Flow) bool {
	if w.Flow != "" && f.Flow == w.Flow {
		return true
	}
	return w.Switch != "" && slices.ContainsFunc(f.Hops, func(h Hop) bool {
		return h.Switch == w.Switch && (w.Port == "" || h.In == w.Port || h.Out == w.Port || h.Path == w.Port)
	})
}

// cut returns the first entries that match; never nil, since JSON has [] for an empty list.
func cut[T any](all []T, most int, match func(*T) bool) []T {
	out := []T{}
	for i := range all {
		if len(out) == most {
			break
		}
		if match(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}

// query is the text of a search.
type query struct {
	words  string // "": everything matches
	number *uint64
}

// newQuery returns the query of a text.
func newQuery(s string) query {
	q := query{words: strings.ToLower(strings.TrimSpace(s))}
	if n, err := strconv.ParseUint(q.words, 0, 24); err == nil {
		q.number = &n
	}
	return q
}

// text reports whether a text has the words in it.
func (q query) text(s string) bool { return strings.Contains(strings.ToLower(s), q.words) }

// qp reports whether a number is that of the query.
func (q query) qp(n *uint64) bool { return q.number != nil && n != nil && *n == *q.number }

// pair reports whether a flow matches.
func (q query) pair(p *Pair) bool {
	if q.number != nil { // digits are in most addresses
		return q.qp(p.DestQP)
	}
	return q.text(p.Flow) || q.text(p.Src) || q.text(p.Dst)
}

// tree reports whether a hold matches, or one below it.
func (q query) tree(h *Hold) bool {
	return q.text(h.Switch) || q.text(h.Port) || q.text(h.From) || q.pair(&h.Pair) || slices.ContainsFunc(h.Below, q.tree)
}
