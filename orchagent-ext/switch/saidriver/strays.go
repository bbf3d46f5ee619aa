// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// strays takes the objects of an earlier process in Sluice's tables that the ledger lacks.
type strays struct {
	lib      *sai.Library
	ports    *Ports
	bindings *bindings
}

// take removes entries and counters of Sluice's tables that the records lack, and adds
// bindings to them. It returns their number.
func (s *strays) take(existing map[string]*engine.Record, flows map[engine.ID]bool) (n int, err error) {
	known := map[engine.ID]bool{}
	tables := map[sai.ObjectID]string{}
	for key, r := range existing {
		known[r.ID] = true
		if id, err := sai.ParseObjectID(string(r.ID)); err == nil && (r.Type == engine.TypeACLTable || r.Type == engine.TypeACLGroup) {
			tables[id] = key
		}
	}
	counters := map[sai.ObjectID]bool{} // that are to go, and may be gone
	for table := range tables {
		if strings.HasSuffix(tables[table], engine.SuffixGroup) {
			continue
		}
		for _, e := range s.entriesOf(table) {
			if id := engine.ID(e.String()); flows[id] || known[id] {
				continue
			}
			if c, err := s.lib.GetObject(saiattr.ACLEntry, e, saiattr.ACLEntryCounter); err == nil && c != sai.Null && !known[engine.ID(c.String())] {
				counters[c] = true
			}
			if err := s.lib.Remove(saiattr.ACLEntry, e); err != nil {
				return n, refusal(err)
			}
			n++
		}
	}
	n += s.claim(existing, tables, known)
	all, err := s.lib.Objects(saiattr.ACLCounter)
	if err != nil {
		all = nil // the library does not list them
	}
	for _, c := range all {
		if id := engine.ID(c.String()); flows[id] || known[id] {
			continue
		}
		if table, err := s.lib.GetObject(saiattr.ACLCounter, c, saiattr.ACLCounterTable); err == nil && tables[table] != "" {
			counters[c] = true
		}
	}
	for c := range counters {
		if err := s.lib.Remove(saiattr.ACLCounter, c); err != nil {
			return n, refusal(err)
		}
		n++
	}
	return n, nil
}

// entriesOf are the entries of a table, as far as the library lists them.
func (s *strays) entriesOf(table sai.ObjectID) []sai.ObjectID {
	entries, err := s.lib.GetObjects(saiattr.ACLTable, table, saiattr.ACLTableEntries)
	if err == nil {
		return entries
	}
	all, err := s.lib.Objects(saiattr.ACLEntry)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(e sai.ObjectID) bool {
		of, err := s.lib.GetObject(saiattr.ACLEntry, e, saiattr.ACLEntryTable)
		return err != nil || of != table
	})
}

// claim adds the records of bindings of Sluice's tables, and of counters whose entries
// have a record: the ledger is written in parts.
func (s *strays) claim(existing map[string]*engine.Record, tables map[sai.ObjectID]string, known map[engine.ID]bool) (n int) {
	var found []*engine.Record
	for name, port := range s.ports.byName {
		if existing[engine.PrefixPort+name] != nil {
			continue
		}
		if r := s.bindings.boundTo(name, port, tables); r != nil {
			found = append(found, r)
		}
	}
	for _, r := range existing {
		key, counts := strings.CutPrefix(r.Attr(saiattr.ACLEntryCounter.Name), "@")
		table, _ := strings.CutPrefix(r.Attr(saiattr.ACLEntryTable.Name), "@")
		if !counts || existing[key] != nil {
			continue
		}
		entry, err := sai.ParseObjectID(string(r.ID))
		if err != nil {
			continue
		}
		if c, err := s.lib.GetObject(saiattr.ACLEntry, entry, saiattr.ACLEntryCounter); err == nil && c != sai.Null {
			found = append(found, &engine.Record{Object: engine.NewCounter(key, table), ID: engine.ID(c.String())})
		}
	}
	for _, r := range found {
		r.Values = nil
		existing[r.Key], known[r.ID] = r, true
	}
	return len(found)
}
