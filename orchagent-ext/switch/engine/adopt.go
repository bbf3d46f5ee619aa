// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/sai-shim/saiattr"
)

// adopt reads the ledger: objects that are still on the switch are taken over, the
// others are forgotten.
func (e *Engine) adopt() error {
	records, err := e.ledger.Load()
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	var inOrder [adoptLast + 1][]*Record
	for _, r := range records {
		n := r.order()
		inOrder[n] = append(inOrder[n], r)
	}
	records = slices.Concat(inOrder[:]...)
	known := make(map[ID]bool, 2*len(records)) // an entry and a counter of each flow
	e.flows = make(map[FlowEntry]*pinned, len(records))
	unknown := false // what the entries of flows sample
	for _, r := range records {
		if r.Type == typeChanging {
			unknown, e.gone = true, append(e.gone, r.ID)
			continue
		}
		if f, p, ok := parsePinned(r); ok && p.counter != "" {
			if err := e.adoptFlow(f, &p, known); err != nil {
				return err
			}
			continue
		}
		if err := e.adoptObject(r); err != nil {
			return err
		}
	}
	before := maps.Clone(e.objects)
	strays, err := e.driver.Strays(e.objects, known)
	if err != nil {
		return fmt.Errorf("look for strays: %w", err)
	}
	for key, r := range e.objects {
		if before[key] == nil {
			e.dirty = append(e.dirty, r)
		}
	}
	e.adoptEarlier()
	e.adoptRedirected()
	e.offered = e.offered.asAdopted(e.objects)
	if within := e.offered.Within(e.objects); within != e.offered {
		e.log.Warn("tables of an earlier version are kept: their entries match less until labels and export are switched off and on, or the switch restarts",
			"tunnels", within.InnerPort, "only_udp", within.Protocol)
	}
	if unknown {
		for _, p := range e.flows {
			p.sampling = samplesUnknown
		}
	}
	if len(records) > 0 && e.Len() == 0 {
		e.log.Warn("none of the objects of the earlier process is on the switch: it began cold, and they are created again", "gone", len(e.gone))
	}
	if len(records) > 0 || strays > 0 {
		e.log.Info("took over the objects on the switch", "objects", e.Len(), "gone", len(e.gone), "strays", strays)
	}
	if e.finder != nil {
		for _, left := range e.finder.Left() {
			e.log.Warn("an object is left", "object", left)
		}
	}
	return e.save()
}

// adoptObject takes over one object of an earlier process, if it is on the switch. A
// second record of the same key is dropped.
func (e *Engine) adoptObject(r *Record) error {
	if e.objects[r.Key] != nil {
		e.gone = append(e.gone, r.ID)
		return nil
	}
	written := r.ID
	there, err := e.driver.Exists(r)
	if err != nil {
		return fmt.Errorf("look for %s %s: %w", r.Type, r.ID, err)
	}
	if !there || r.ID != written {
		e.gone = append(e.gone, written)
	}
	if !there {
		return nil
	}
	if r.ID != written {
		e.dirty = append(e.dirty, r)
	}
	e.objects[r.Key] = r
	return nil
}

// adoptFlow takes over the objects of a flow. A counter whose entry is gone goes, too.
func (e *Engine) adoptFlow(f FlowEntry, p *pinned, known map[ID]bool) error {
	// what a driver looks at: flows are many
	entry := &Record{Object: Object{Type: TypeACLEntry, Attrs: []Attr{{saiattr.ACLEntryCounter.Name, string(p.counter)}}}, ID: p.entry}
	there := false
	if e.flows[f] == nil {
		var err error
		if there, err = e.driver.Exists(entry); err != nil {
			return fmt.Errorf("look for %s %s: %w", entry.Type, entry.ID, err)
		}
	}
	if !there {
		e.gone = append(e.gone, p.entry)
		counter := &Record{Object: Object{Type: TypeACLCounter}, ID: p.counter}
		if there, err := e.driver.Exists(counter); err != nil || !there {
			return err
		}
		if err := e.driver.Remove(p.counterRecord(f)); err != nil && !errors.Is(err, ErrGone) {
			return fmt.Errorf("remove %s %s: %w", TypeACLCounter, p.counter, err)
		}
		return nil
	}
	e.flows[f], known[p.entry], known[p.counter] = p, true, true
	return e.finishRelabel(f, p)
}

// adoptEarlier takes over flows of an earlier version, whose ledger had the counter of a
// flow as an object of its own. An entry or counter without its partner is removed by the
// next plan.
func (e *Engine) adoptEarlier() {
	for key, r := range e.objects {
		f, p, ok := parsePinned(r)
		counter := e.objects[key+suffixCounter]
		if !ok || counter == nil || e.flows[f] != nil {
			continue
		}
		p.counter = counter.ID
		e.flows[f] = &p
		delete(e.objects, key)
		delete(e.objects, counter.Key)
		e.gone = append(e.gone, counter.ID)
		e.dirty = slices.DeleteFunc(e.dirty, func(d *Record) bool { return strings.HasPrefix(d.Key, key) })
		e.dirty = append(e.dirty, p.record(f))
	}
}
