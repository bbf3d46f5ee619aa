// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"slices"
	"strings"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// prefixUnknown begins the id of a record that was written before its object was
// created. Its Previous is what there was then: the objects of the type, with commas
// between, or what the attribute held.
const prefixUnknown = "unknown:"

// Before implements [Finder]. Entries, counters and bindings are found by their
// table. Where the library lists no objects, others cannot be found.
func (d *SAI) Before(o *Object) *Record {
	switch o.Type {
	case TypeACLEntry, TypeACLCounter, TypeBinding, TypeSwitchSeed: // to set a seed again does no harm
		return nil
	}
	r := &Record{Object: *o, ID: ID(prefixUnknown + o.Key)}
	if o.Type == TypeSwitchHash {
		was, err := d.hashIn(o)
		if err != nil {
			return nil
		}
		r.Previous = ID(was.String())
		return r
	}
	kind, known := kinds[o.Type]
	if !known || d.connected {
		return nil
	}
	ids, err := d.lib.Objects(kind)
	if err != nil {
		return nil
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	r.Previous = ID(strings.Join(words, ","))
	return r
}

// hashIn is the hash that the attribute of a switch setting holds.
func (d *SAI) hashIn(o *Object) (sai.ObjectID, error) {
	use, err := hashUseOf(o.Attrs[0].Name)
	if err != nil {
		return sai.Null, err
	}
	return d.hashOf(use)
}

// find looks for the object of a record that was written before it was created, and
// completes the record.
func (d *SAI) find(r *Record) bool {
	if r.Type == TypeSwitchHash {
		now, err := d.hashIn(&r.Object)
		if err != nil || now == sai.Null || ID(now.String()) == r.Previous {
			return false // it was not set
		}
		r.ID = ID(prefixUse + r.Attrs[0].Name)
		if r.Previous == ID(sai.Null.String()) {
			r.Previous = ""
		}
		return true
	}
	ids, err := d.lib.Objects(kinds[r.Type])
	if err != nil {
		return false
	}
	was := strings.Split(string(r.Previous), ",")
	fresh := slices.DeleteFunc(ids, func(id sai.ObjectID) bool { return slices.Contains(was, id.String()) })
	if len(fresh) != 1 { // it was not created, or another process has created some, too
		return false
	}
	r.ID, r.Previous = ID(fresh[0].String()), ""
	if r.Type == TypeHash {
		d.readFields(r, fresh[0])
	}
	return true
}

// Exists implements [Driver].
func (d *SAI) Exists(r *Record) (bool, error) {
	if strings.HasPrefix(string(r.ID), prefixUnknown) && !d.find(r) {
		return false, nil
	}
	if name, ok := strings.CutPrefix(string(r.ID), prefixBinding); ok {
		port, err := d.port(name)
		if err != nil {
			return false, nil
		}
		table, err := d.ingressACL(port)
		return unreadable(err) || err == nil && table != sai.Null, nil // the ledger has what was set
	}
	if r.Type == TypeHashList {
		_, fields, err := d.defaultHash()
		added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
		return err != nil || slices.Contains(fields, added), nil // the ledger has what was set
	}
	if name, ok := strings.CutPrefix(string(r.ID), prefixUse); ok {
		use, err := hashUseOf(name)
		if err != nil {
			return false, nil
		}
		hash, err := d.hashOf(use)
		return err == nil && hash != sai.Null, nil
	}
	if r.ID == idSeed {
		seed, err := d.HashSeed()
		if err == nil {
			r.Attrs = []Attr{{saiattr.SwitchHashSeed.Name, saiattr.SwitchHashSeed.Of(uint64(seed)).Text}}
		}
		return err == nil, nil
	}
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return false, nil
	}
	kind, ok := kinds[r.Type]
	there := ok && d.lib.Exists(kind, id)
	if there {
		d.know(r, id)
	}
	return there, nil
}

// Strays implements [Driver]: entries, counters and bindings of Sluice's tables that
// no record names.
func (d *SAI) Strays(existing map[string]*Record, flows map[ID]bool) (n int, err error) {
	known := map[ID]bool{}
	tables := map[sai.ObjectID]string{}
	for key, r := range existing {
		known[r.ID] = true
		if id, err := sai.ParseObjectID(string(r.ID)); err == nil && r.Type == TypeACLTable {
			tables[id] = key
		}
	}
	counters := map[sai.ObjectID]bool{} // that are to go, and may be gone
	for table := range tables {
		entries, err := d.lib.GetObjects(saiattr.ACLTable, table, saiattr.ACLTableEntries)
		if err != nil {
			continue // the library does not list them
		}
		for _, e := range entries {
			if id := ID(e.String()); flows[id] || known[id] {
				continue
			}
			if c, err := d.lib.GetObject(saiattr.ACLEntry, e, saiattr.ACLEntryCounter); err == nil && c != sai.Null && !known[ID(c.String())] {
				counters[c] = true
			}
			if err := d.lib.Remove(saiattr.ACLEntry, e); err != nil {
				return n, refusal(err)
			}
			n++
		}
	}
	n += d.claim(existing, tables, known)
	all, err := d.lib.Objects(saiattr.ACLCounter)
	if err != nil {
		all = nil // the library does not list them
	}
	for _, c := range all {
		if id := ID(c.String()); flows[id] || known[id] {
			continue
		}
		if table, err := d.lib.GetObject(saiattr.ACLCounter, c, saiattr.ACLCounterTable); err == nil && tables[table] != "" {
			counters[c] = true
		}
	}
	for c := range counters {
		if err := d.lib.Remove(saiattr.ACLCounter, c); err != nil {
			return n, refusal(err)
		}
		n++
	}
	return n, nil
}

// claim adds the records of bindings of Sluice's tables, and of counters whose entries
// have a record: the ledger is written in parts.
func (d *SAI) claim(existing map[string]*Record, tables map[sai.ObjectID]string, known map[ID]bool) (n int) {
	var found []*Record
	for name, port := range d.ports {
		id := ID(prefixBinding + name)
		if known[id] {
			continue
		}
		if table, err := d.ingressACL(port); err == nil && tables[table] != "" {
			found = append(found, &Record{Object: bindingObject(name, tables[table]), ID: id})
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
		if c, err := d.lib.GetObject(saiattr.ACLEntry, entry, saiattr.ACLEntryCounter); err == nil && c != sai.Null {
			found = append(found, &Record{Object: counterObject(key, table), ID: ID(c.String())})
		}
	}
	for _, r := range found {
		r.values = nil
		existing[r.Key], known[r.ID] = r, true
	}
	return len(found)
}
