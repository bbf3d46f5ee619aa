// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"time"

	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/switch/engine"
)

// Held reports whether a flow is held.
type Held func(engine.FlowEntry) bool

// A Move is another label for a flow.
type Move struct {
	flow  *Flow
	table *placement.Table
	placement.Move
}

// key returns the part of an entry that identifies the flow.
func key(f engine.FlowEntry) engine.FlowEntry {
	f.Label, f.SrcPort = 0, 0
	return f
}

// CarryOut gives flows the labels of moves, which [Placer.Moves] has just returned. Moves that
// the switch refuses are undone.
func (p *Placer) CarryOut(sw Switch, moves []Move, now time.Time) error {
	if len(moves) == 0 {
		return nil
	}
	by := make(map[engine.FlowEntry]Move, len(moves)) // those that are made, in the end
	change := make([]engine.FlowEntry, len(moves))
	for i, m := range moves {
		change[i] = m.flow.FlowEntry
		change[i].Label = m.To
		by[key(change[i])] = m
	}
	refused, err := sw.Relabel(change, p.whileIdle(sw, by))
	for _, f := range refused {
		if m, tried := by[key(f)]; tried {
			m.table.Undo(m.Move)
			delete(by, key(f))
		}
	}
	for _, m := range by {
		m.flow.Label, m.flow.moved = m.To, now.UnixNano()
	}
	return err
}

// whileIdle has labels change only of flows whose counter is as it was when the table
// found them idle: the ledger, and the changes before, take milliseconds. The others are
// cancelled, and taken out of by. Where any flow may move it leaves by as it is.
func (p *Placer) whileIdle(sw Switch, by map[engine.FlowEntry]Move) engine.EachLabel {
	if p.cfg.Table.Moves == placement.MovesAny {
		return engine.EachLabel{}
	}
	sends := func(m Move) bool {
		_, octets, err := sw.CountFlow(m.flow.FlowEntry)
		return err != nil || octets != m.flow.octets
	}
	return engine.EachLabel{
		Before: func(f engine.FlowEntry) bool {
			m := by[key(f)]
			if !sends(m) {
				return true
			}
			m.table.Cancel(m.Move)
			delete(by, key(f))
			return false
		},
		After: func(f engine.FlowEntry) {
			if m := by[key(f)]; sends(m) {
				m.table.Overtaken(m.Move)
			}
		},
	}
}
