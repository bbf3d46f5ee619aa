// SPDX-License-Identifier: Apache-2.0

package leafspine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/plan"
)

// A Method is how a flow comes to its uplink.
type Method string

// The methods.
const (
	FiveTuple Method = "5-tuple" // ECMP by addresses and ports
	Hash      Method = "hash"    // and by a label that is a hash of the queue pairs
	Local     Method = "local"   // labels that each leaf chooses by itself
	Planned   Method = "fabric"  // and then by a plan for all
)

// Methods are all of them.
var Methods = []Method{FiveTuple, Hash, Local, Planned}

// A Result is how evenly a collective lay on the links, and its cost.
type Result struct {
	Pattern  Pattern
	QPs      int // queue pairs for each pair of hosts
	Method   Method
	Flows    int     // between leaves
	Up, Down float64 // max ÷ mean of a leaf's uplinks, and of the downlinks to a leaf: the worst leaf's
	Time     float64 // of the collective ÷ that of a fabric without a limit
	Moves    int     // of labels
}

// second is the interval in which rates are measured.
const second = int64(1e9)

// scale is octets for 1: so that classes of size are in the middle of their range.
const scale = 1e9

// Run lets a collective run by each method, over the same flows.
func (f Fabric) Run(p Pattern, qps int, seed uint64) ([]Result, error) {
	random := rand.New(rand.NewPCG(seed, uint64(qps)))
	streams := f.streams(p, qps, random)
	leaves, err := f.newLeaves(len(streams))
	if err != nil {
		return nil, err
	}
	order := random.Perm(len(streams)) // in which flows begin
	var results []Result
	for _, m := range Methods {
		r := Result{Pattern: p, QPs: qps, Method: m}
		switch m {
		case FiveTuple, Hash:
			for i := range streams {
				s, label := &streams[i], uint32(0)
				if m == Hash {
					label = s.hash
				}
				if leaf := f.leaf(s.from); leaf != f.leaf(s.to) {
					s.spine, _ = leaves[leaf].model.Predict(s.tuple(label))
				}
			}
		case Local:
			f.place(leaves, streams, order)
		case Planned:
			if r.Moves, err = f.plan(leaves, streams); err != nil {
				return nil, err
			}
		}
		f.judge(streams, &r)
		results = append(results, r)
	}
	return results, nil
}

// A leaf is a switch: its table, and its hash, which has a seed of its own.
type leaf struct {
	name  string
	table *placement.Table
	model ecmp.Model
}

func (f Fabric) newLeaves(flows int) (leaves []leaf, err error) {
	group, err := ecmp.Equal(f.Spines)
	if err != nil {
		return nil, err
	}
	var members []placement.Member
	for s := range f.Spines {
		members = append(members, placement.Member{Name: spineName(s), Weight: f.uplink()})
	}
	for l := range f.Leaves {
		kernel := ecmp.Kernel{Seed: uint32(l + 1), Policy: ecmp.PolicyFields, Fields: ecmp.FiveTuple | ecmp.FieldLabel}
		model, err := ecmp.OfKernel(kernel, group)
		if err != nil {
			return nil, err
		}
		t := placement.New(placement.Config{
			Capacity: min(flows, 8192+4*flows/f.Leaves), Leaves: f.Leaves, Moves: placement.MovesAny, MaxMoves: flows, RestNS: 1,
		})
		if _, err := t.SetGroup(model, members); err != nil {
			return nil, err
		}
		leaves = append(leaves, leaf{leafName(l), t, model})
	}
	return leaves, nil
}

func leafName(l int) string  { return fmt.Sprint("leaf", l) }
func spineName(s int) string { return fmt.Sprint("spine", s) }

// plan lets the leaves write their rows, the planner its quotas, and the leaves follow.
func (f Fabric) plan(leaves []leaf, streams []stream) (moves int, err error) {
	f.measure(leaves, streams)
	made, err := f.make(leaves, 1, nil)
	if err != nil {
		return 0, err
	}
	for _, l := range leaves {
		n, err := f.follow(leaves, l, made)
		if err != nil {
			return 0, err
		}
		moves += n
	}
	f.settle(leaves, streams)
	return moves, nil
}

// place lets flows begin in an order, each placed by its leaf.
func (f Fabric) place(leaves []leaf, streams []stream, order []int) {
	for _, i := range order {
		if s := &streams[i]; f.leaf(s.from) != f.leaf(s.to) {
			leaves[f.leaf(s.from)].table.Place(s.flow, f.leaf(s.to), s.hash)
		}
	}
	f.settle(leaves, streams)
}

// measure shows each leaf the counters of its flows over a second.
func (f Fabric) measure(leaves []leaf, streams []stream) {
	for i := range streams {
		s := &streams[i]
		t := leaves[f.leaf(s.from)].table
		t.Sample(s.flow, 0, 0)
		t.Sample(s.flow, uint64(s.octets*scale), second)
	}
}

// spines are all, in the order of the leaves' members.
func (f Fabric) spines() (names []string) {
	for s := range f.Spines {
		names = append(names, spineName(s))
	}
	return names
}

// make is the planner's part: of the leaves' rows, without the spines that are drained.
func (f Fabric) make(leaves []leaf, number uint64, drained map[string]bool) (*plan.Plan, error) {
	var names []string
	for _, l := range leaves {
		names = append(names, l.name)
	}
	rows := map[string][]byte{}
	for _, l := range leaves {
		row := plan.Row{Leaf: l.name, Spines: map[string]float64{}}
		row.Demand, _ = plan.DemandOf(l.table, names, nil)
		for _, s := range f.spines() {
			if !drained[s] {
				row.Spines[s] = f.uplink()
			}
		}
		var err error
		if rows[l.name], err = json.Marshal(row); err != nil {
			return nil, err
		}
	}
	good, aside := plan.Read(rows)
	if len(aside) > 0 {
		return nil, fmt.Errorf("row of %s: %w", aside[0].Key, aside[0].Reason)
	}
	return plan.Make(good, number), nil
}

// follow is a leaf's part: it reads its quotas and moves flows until they are met.
func (f Fabric) follow(leaves []leaf, l leaf, made *plan.Plan) (moves int, err error) {
	text, err := json.Marshal(made.Leaves[l.name])
	if err != nil {
		return 0, err
	}
	quotas, err := plan.ParseQuotas(text)
	if err != nil {
		return 0, fmt.Errorf("quotas of %s: %w", l.name, err)
	}
	number := func(name string) int {
		return slices.IndexFunc(leaves, func(l leaf) bool { return l.name == name })
	}
	if aside := quotas.Apply(l.table, number, f.spines()); aside > 0 {
		return 0, fmt.Errorf("%s sets %d quotas aside", l.name, aside)
	}
	for now := second; ; now += second {
		n := len(l.table.Look(now))
		if moves += n; n == 0 {
			return moves, nil
		}
	}
}

// settle takes the streams to where their labels lead, by the leaves' own hash.
func (f Fabric) settle(leaves []leaf, streams []stream) {
	for i := range streams {
		if s := &streams[i]; f.leaf(s.from) != f.leaf(s.to) {
			l := leaves[f.leaf(s.from)]
			label, _, _ := l.table.Label(s.flow)
			s.spine, _ = l.model.Predict(s.tuple(label))
		}
	}
}

// tuple returns the fields of a stream with a label that ECMP hashes.
func (s *stream) tuple(label uint32) *ecmp.Tuple {
	return &ecmp.Tuple{Src: s.flow.Src, Dst: s.flow.Dst, Proto: 17, SrcPort: s.flow.SrcPort, DstPort: 4791, FlowLabel: label}
}
