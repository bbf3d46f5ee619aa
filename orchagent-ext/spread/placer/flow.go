// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"time"

	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/switch/engine"
)

// Registry is the flows that have entries on the switch, each once: package entries. The placer
// keeps its part in them.
type Registry interface {
	// Flows yields all flows, in any order.
	Flows(yield func(*Flow) bool)

	// Find returns a flow, whose label and source port are left out of the comparison; nil:
	// there is none.
	Find(f engine.FlowEntry) *Flow
}

// A Flow is one of the registry.
type Flow struct {
	engine.FlowEntry // with the label in force

	placer *Placer // that has taken it over, or nil
	group  *group  // nil: it has one next hop, or an unknown source port
	hash   uint32  // its label by hash
	octets uint64  // of its counter, at the last poll
	moved  int64   // when its label changed last, ns of Unix time, or 0
}

// flow returns the flow as package placement has it.
func (f *Flow) flow() placement.Flow {
	return placement.Flow{Src: f.Src, Dst: f.Dst, DestQP: f.DestQP, SrcPort: f.SrcPort}
}

// entryOf returns the entry of a flow of package placement.
func entryOf(f placement.Flow, label uint32) engine.FlowEntry {
	return engine.FlowEntry{Src: f.Src, Dst: f.Dst, DestQP: f.DestQP, SrcPort: f.SrcPort, Label: label}
}

// join takes a flow over into a group, with the label that it has. Without its source
// port its path is unknown.
func (f *Flow) join(g *group) {
	if g != nil && f.SrcPort != 0 {
		f.group = g
		g.table.Adopt(f.flow(), f.placer.fabric.leafOf(f.Dst), f.hash, f.Label)
	}
}

// leave removes the flow from the table of its group.
func (f *Flow) leave() {
	if f.group != nil {
		f.group.table.Forget(f.flow())
	}
	f.group = nil
}

// Leave ends the part of placement in a flow that leaves the registry.
func (f *Flow) Leave() {
	f.leave()
	f.placer = nil
}

// SetSrcPort records another UDP source port, by which the flow may have another path. Its label
// stays.
func (f *Flow) SetSrcPort(port uint16) {
	f.leave()
	if f.SrcPort = port; f.placer != nil {
		f.join(f.placer.groups.dests[f.Dst])
	}
}

// Observe records that packets of the flow left by a netdev of a next hop.
func (f *Flow) Observe(link string) {
	if f.group == nil {
		return
	}
	if m := f.group.member(link); m >= 0 {
		f.group.table.Observe(f.flow(), m)
	}
}

// Path returns the netdev that the flow is predicted to leave by ("": unknown), and the
// time of its last move.
func (f *Flow) Path() (link string, movedAt time.Time) {
	if f.moved != 0 {
		movedAt = time.Unix(0, f.moved)
	}
	if f.group != nil {
		if _, m, ok := f.group.table.Label(f.flow()); ok && m >= 0 && m < len(f.group.members) {
			link = f.group.members[m].Link
		}
	}
	return link, movedAt
}

// flows yields the flows that the placer has taken over.
func (p *Placer) flows(yield func(*Flow) bool) {
	for f := range p.registry.Flows {
		if f.placer == p && !yield(f) {
			return
		}
	}
}

// Placed yields the flows that are in a group of next hops, whose counters a poll needs.
func (p *Placer) Placed(yield func(*Flow) bool) {
	for f := range p.flows {
		if f.group != nil && !yield(f) {
			return
		}
	}
}
