// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"sluice/sai-shim/saiattr"
)

// adopt takes over the objects of a flow. A counter whose entry is gone goes, too.
func (x *flowEntries) adopt(f FlowEntry, p *pinned, known map[ID]bool) error {
	// what a driver looks at: flows are many
	entry := &Record{Object: Object{Type: TypeACLEntry, Attrs: []Attr{{saiattr.ACLEntryCounter.Name, string(p.counter)}}}, ID: p.entry}
	there := false
	if x.flows[f] == nil {
		var err error
		if there, err = x.sw.driver.Exists(entry); err != nil {
			return fmt.Errorf("look for %s %s: %w", entry.Type, entry.ID, err)
		}
	}
	if !there {
		x.sw.ledger.drop(p.entry)
		counter := &Record{Object: Object{Type: TypeACLCounter}, ID: p.counter}
		if there, err := x.sw.driver.Exists(counter); err != nil || !there {
			return err
		}
		if err := x.sw.driver.Remove(p.counterRecord(f)); err != nil && !errors.Is(err, ErrGone) {
			return fmt.Errorf("remove %s %s: %w", TypeACLCounter, p.counter, err)
		}
		return nil
	}
	x.flows[f], known[p.entry], known[p.counter] = p, true, true
	return x.finishRelabel(f, p)
}

// adoptEarlier takes over flows of an earlier version, whose ledger had the counter of a
// flow as an object of its own. An entry or counter without its partner is removed by the
// next plan.
func (x *flowEntries) adoptEarlier() {
	for key, r := range x.sw.objects {
		f, p, ok := parsePinned(r)
		counter := x.sw.objects[key+suffixCounter]
		if !ok || counter == nil || x.flows[f] != nil {
			continue
		}
		p.counter = counter.ID
		x.flows[f] = &p
		delete(x.sw.objects, key)
		delete(x.sw.objects, counter.Key)
		x.sw.ledger.drop(counter.ID)
		x.sw.ledger.withdraw(key)
		x.sw.ledger.add(p.record(f))
	}
}

// assumeUnknownSampling has the sampling of all entries set again: a process was killed
// while it changed that.
func (x *flowEntries) assumeUnknownSampling() {
	for _, p := range x.flows {
		p.sampling = samplesUnknown
	}
}
