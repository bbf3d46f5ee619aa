// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/wire/roce"
)

// A group is the members, and the model of the switch's choice among them. Before the first set it
// has neither.
type group struct {
	model   ecmp.Model
	members []Member
	weight  float64    // of all members
	tuple   ecmp.Tuple // scratch: of the flow last asked for
}

// set replaces model and members. An error leaves the group as it was.
func (g *group) set(model ecmp.Model, members []Member) error {
	if model == nil {
		return errors.New("placement: no model")
	}
	names := map[string]bool{}
	weight := 0.0
	for i, m := range members {
		if !(m.Weight >= 0 && m.Weight <= 1e18) {
			return fmt.Errorf("placement: member %d (%s) has weight %v: a number of 0 or more is possible", i, m.Name, m.Weight)
		}
		if names[m.Name] {
			return fmt.Errorf("placement: two members are called %q", m.Name)
		}
		names[m.Name] = true
		weight += m.Weight
	}
	g.model, g.members, g.weight = model, append([]Member(nil), members...), weight
	return nil
}

// setTuple sets the scratch tuple to a flow's packets with a label.
func (g *group) setTuple(f *Flow, label uint32) {
	g.tuple = ecmp.Tuple{Src: f.Src, Dst: f.Dst, Proto: 17, SrcPort: f.SrcPort, DstPort: roce.UDPPort, FlowLabel: label}
}

// predict returns the model's member for a flow with a label, or unknown.
func (g *group) predict(f *Flow, label uint32) int {
	g.setTuple(f, label)
	return g.predictNext(label)
}

// predictNext is predict for another label of the flow last asked for.
func (g *group) predictNext(label uint32) int {
	if g.model == nil {
		return unknown
	}
	g.tuple.FlowLabel = label
	if m, known := g.model.Predict(&g.tuple); known && m < len(g.members) {
		return m
	}
	return unknown
}

// observe gives the model the member of a flow's packets with a label.
func (g *group) observe(f *Flow, label uint32, member int) {
	g.setTuple(f, label)
	g.model.Observe(&g.tuple, member)
}

// has reports whether there is a member of this number, and a model.
func (g *group) has(member int) bool {
	return g.model != nil && member >= 0 && member < len(g.members)
}

// trusted reports whether a label decides the path, by a model whose score is good.
func (g *group) trusted() bool {
	return g.model != nil && !g.model.Score().Wrong() && g.model.HashesLabel()
}
