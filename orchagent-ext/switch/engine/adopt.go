// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
)

// adopt reads the ledger: objects that are still on the switch are taken over, the
// others are forgotten.
func (e *Engine) adopt() error {
	records, err := e.sw.ledger.load()
	if err != nil {
		return err
	}
	known := make(map[ID]bool, 2*len(records)) // an entry and a counter of each flow
	e.entries.flows = make(map[FlowEntry]*pinned, len(records))
	unknown := false // what the entries of flows sample
	for _, r := range records {
		if r.Type == typeChanging {
			unknown = true
			e.sw.ledger.drop(r.ID)
			continue
		}
		if f, p, ok := parsePinned(r); ok && p.counter != "" {
			if err := e.entries.adopt(f, &p, known); err != nil {
				return err
			}
			continue
		}
		if err := e.sw.adopt(r); err != nil {
			return err
		}
	}
	strays, err := e.sw.adoptStrays(known)
	if err != nil {
		return err
	}
	e.entries.adoptEarlier()
	e.redirected.adopt(e.sw.objects)
	e.offers.adopt(e.sw.objects)
	if unknown {
		e.entries.assumeUnknownSampling()
	}
	if len(records) > 0 && e.Len() == 0 {
		e.log.Warn("none of the objects of the earlier process is on the switch: it began cold, and they are created again", "gone", len(e.sw.ledger.gone))
	}
	if len(records) > 0 || strays > 0 {
		e.log.Info("took over the objects on the switch", "objects", e.Len(), "gone", len(e.sw.ledger.gone), "strays", strays)
	}
	if e.sw.finder != nil {
		for _, left := range e.sw.finder.Left() {
			e.log.Warn("an object is left", "object", left)
		}
	}
	return e.sw.ledger.save()
}

// load returns the records of the ledger in the order of adoption.
func (b *backlog) load() ([]*Record, error) {
	records, err := b.ledger.Load()
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	var inOrder [adoptLast + 1][]*Record
	for _, r := range records {
		n := r.order()
		inOrder[n] = append(inOrder[n], r)
	}
	return slices.Concat(inOrder[:]...), nil
}

// adopt takes over one object of an earlier process, if it is on the switch. A second
// record of the same key is dropped.
func (p *programmer) adopt(r *Record) error {
	if p.objects[r.Key] != nil {
		p.ledger.drop(r.ID)
		return nil
	}
	written := r.ID
	there, err := p.driver.Exists(r)
	if err != nil {
		return fmt.Errorf("look for %s %s: %w", r.Type, r.ID, err)
	}
	if !there || r.ID != written {
		p.ledger.drop(written)
	}
	if !there {
		return nil
	}
	if r.ID != written {
		p.ledger.add(r)
	}
	p.objects[r.Key] = r
	return nil
}

// adoptStrays has the driver take the objects of an earlier process that the ledger lacks.
// known are those of flows.
func (p *programmer) adoptStrays(known map[ID]bool) (n int, err error) {
	before := maps.Clone(p.objects)
	if n, err = p.driver.Strays(p.objects, known); err != nil {
		return n, fmt.Errorf("look for strays: %w", err)
	}
	for key, r := range p.objects {
		if before[key] == nil {
			p.ledger.add(r)
		}
	}
	return n, nil
}
