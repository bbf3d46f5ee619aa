// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
)

// lookEvery is how often, by the capture's clock, flows that are idle may move.
const lookEvery = int64(100 * time.Millisecond)

// placing chooses labels as package placement would: online, each by the octets that were sent
// before it. Counters are sampled before each choice and at each look.
type placing struct {
	cfg    *Config
	loads  []loads
	tables []*placement.Table // for each number of paths
	index  map[placement.Flow]int32
	units  []unit
	dirty  []int32 // units with a load that the tables do not know

	now, looked int64
	begun       bool
	packets     int // since the last look
}

// unit gets one label: a flow as entries on the switch match it.
type unit struct {
	key           placement.Flow
	sent, pending uint64 // pending: not in the loads of paths yet
	last          int64  // when its last packet came, ns
	paths         []int32
}

// newPlacing returns tables with members of equal weight, and the model of the hash.
func newPlacing(c *Config, l []loads) (*placing, error) {
	p := &placing{cfg: c, loads: l, index: map[placement.Flow]int32{}}
	for _, n := range c.Paths {
		model, err := ecmp.OfHash(c.Hash, n)
		if err != nil {
			return nil, err
		}
		var members []placement.Member
		for i := range n {
			members = append(members, placement.Member{Name: fmt.Sprint("path ", i), Weight: 1})
		}
		table := placement.New(placement.Config{Capacity: c.Capacity})
		if _, err := table.SetGroup(model, members); err != nil {
			return nil, err
		}
		p.tables = append(p.tables, table)
	}
	return p, nil
}

// add adds the load of a packet. The clock of a capture may step back: then it waits.
func (p *placing) add(e *entry, now int64, weight uint64) {
	p.now = max(p.now, now)
	p.packets++
	if !p.begun || p.now-p.looked >= lookEvery && 4*p.packets >= len(p.units) {
		p.look()
	}
	if e.unit == 0 {
		p.place(e)
	}
	u := &p.units[e.unit-1]
	if u.pending == 0 {
		p.dirty = append(p.dirty, e.unit-1)
	}
	u.pending += weight
	u.last = p.now
}

// place finds the unit of a flow, and chooses the labels of a new one.
func (p *placing) place(e *entry) {
	key := placement.Flow{Src: e.Src, Dst: e.Dst, DestQP: e.DestQP, SrcPort: e.SrcPort}
	i, known := p.index[key]
	if !known {
		p.flush()
		i = int32(len(p.units))
		u := unit{key: key, paths: make([]int32, len(p.tables))}
		for k, t := range p.tables {
			u.paths[k] = p.path(&key, t.Place(key, -1, e.Literal).Label, p.cfg.Paths[k])
		}
		p.units, p.index[key] = append(p.units, u), i
	}
	e.unit = i + 1
}

// path is where a label leads.
func (p *placing) path(key *placement.Flow, label uint32, n int) int32 {
	f := Flow{Src: key.Src, Dst: key.Dst, SrcPort: key.SrcPort}
	return int32(p.cfg.Hash.Path(f.tuple(label), true, n))
}

// flush brings the octets that were sent to the loads of the paths and to the tables.
func (p *placing) flush() {
	for _, i := range p.dirty {
		u := &p.units[i]
		u.sent += u.pending
		for k, t := range p.tables {
			p.loads[k].placed[u.paths[k]] += u.pending
			t.Sample(u.key, u.sent, u.last)
		}
		u.pending = 0
	}
	p.dirty = p.dirty[:0]
}

// look shows the tables the counters of all, and lets them move flows.
func (p *placing) look() {
	p.flush()
	p.looked, p.begun, p.packets = p.now, true, 0
	for i := range p.units {
		for _, t := range p.tables {
			t.Sample(p.units[i].key, p.units[i].sent, p.now)
		}
	}
	for k, t := range p.tables {
		for _, m := range t.Look(p.now) {
			u := &p.units[p.index[m.Flow]]
			label, _, _ := t.Label(m.Flow)
			u.paths[k] = p.path(&u.key, label, p.cfg.Paths[k])
		}
	}
}

// floor returns the least max ÷ mean that a placement can reach: a flow is indivisible. 0: no
// flow has a place for a label.
func (p *placing) floor(paths int) float64 {
	var sum, largest uint64
	for i := range p.units {
		sum += p.units[i].sent
		largest = max(largest, p.units[i].sent)
	}
	if sum == 0 {
		return 0
	}
	return max(1, float64(largest)*float64(paths)/float64(sum))
}
