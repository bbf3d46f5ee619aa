// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Lists implements [engine.Finder]: the library lists objects, so that objects whose id
// the ledger lacks are found by their attributes.
func (d *Driver) Lists() bool {
	if d.lists == nil {
		_, err := d.lib.Objects(saiattr.ACLCounter)
		lists := err == nil
		d.lists = &lists
	}
	return *d.lists
}

// Before implements [engine.Finder]. Entries, counters and bindings are found by their
// table. With a library that cannot list objects they have a record, too, by which the
// next process knows that objects may be left.
func (d *Driver) Before(o *engine.Object) *engine.Record {
	r := &engine.Record{Object: *o, ID: engine.ID(engine.PrefixUnknown + o.Key)}
	switch o.Type {
	case engine.TypeBinding, engine.TypeSwitchSeed: // to set a seed again does no harm
		return nil
	case engine.TypeSwitchHash:
		was, err := d.hashIn(o)
		if err != nil {
			return nil
		}
		r.Previous = engine.ID(was.String())
		return r
	case engine.TypeHashList:
		_, fields, err := d.defaultHash()
		if err != nil {
			return nil
		}
		r.Previous = listBefore(fields)
		return r
	case engine.TypeACLEntry, engine.TypeACLCounter:
		if d.Lists() {
			return nil
		}
		return r
	}
	ids, err := d.lib.Objects(kinds[o.Type])
	if err != nil && d.last != nil {
		ids = []sai.ObjectID{d.last(kinds[o.Type].Name)}
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	r.Previous = engine.ID(strings.Join(words, ","))
	return r
}

// hashIn is the hash that the attribute of a switch setting holds.
func (d *Driver) hashIn(o *engine.Object) (sai.ObjectID, error) {
	use, err := hashUseOf(o.Attrs[0].Name)
	if err != nil {
		return sai.Null, err
	}
	return d.hashOf(use)
}

// find looks for the object of a record that was written before it was created, and
// completes the record.
func (d *Driver) find(r *engine.Record) bool {
	if r.Type == engine.TypeSwitchHash {
		now, err := d.hashIn(&r.Object)
		if err != nil || now == sai.Null || engine.ID(now.String()) == r.Previous {
			return false // it was not set
		}
		r.ID = engine.ID(prefixUse + r.Attrs[0].Name)
		if r.Previous == engine.ID(sai.Null.String()) {
			r.Previous = ""
		}
		return true
	}
	if r.Type == engine.TypeHashList {
		return d.findList(r)
	}
	fresh := d.candidates(r)
	// a hash of fewer fields, or one that told the next id, was not removed yet
	if (r.Type == engine.TypeHash || d.connected) && len(fresh) > 1 {
		for _, id := range fresh[:len(fresh)-1] {
			_ = d.lib.Remove(kinds[r.Type], id)
		}
		fresh = fresh[len(fresh)-1:]
	}
	if len(fresh) != 1 { // it was not created, or another process has created the same
		return false
	}
	r.ID, r.Previous = engine.ID(fresh[0].String()), ""
	if r.Type == engine.TypeHash {
		d.readFields(r, fresh[0])
	}
	return true
}

// Exists implements [engine.Driver]. An id that was unknown is filled in. A library that
// cannot read is believed: the object counts as there.
func (d *Driver) Exists(r *engine.Record) (bool, error) {
	if strings.HasPrefix(string(r.ID), engine.PrefixUnknown) && !d.find(r) {
		return false, nil
	}
	if r.Type == engine.TypeBinding {
		return d.isBound(r), nil
	}
	if r.Type == engine.TypeHashList {
		return d.listHas(r), nil
	}
	if name, ok := strings.CutPrefix(string(r.ID), prefixUse); ok {
		use, err := hashUseOf(name)
		if err != nil {
			return false, nil
		}
		// another owner's: the process was killed when it had put it back
		hash, err := d.hashOf(use)
		return unreadable(err) || err == nil && hash != sai.Null && !d.another(hash, nil), nil
	}
	if r.ID == idSeed {
		seed, err := d.HashSeed()
		if err == nil {
			r.Attrs = []engine.Attr{{Name: saiattr.SwitchHashSeed.Name, Value: saiattr.SwitchHashSeed.Of(uint64(seed)).Text}}
		}
		return err == nil, nil
	}
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return false, nil
	}
	kind, ok := kinds[r.Type]
	if !ok || !d.isThere(kind, id, r) {
		return false, nil
	}
	d.know(r, id)
	if r.Key != "" {
		d.adopted[r.Key] = r
	} else if !d.Lists() {
		d.flows[r.ID] = true
		d.flows[engine.ID(r.Attr(saiattr.ACLEntryCounter.Name))] = true
	}
	return true, nil
}

// reads is how often an object is read before an error that may pass counts.
const reads = 3

// isThere reports whether the object of a record is on the switch: all readable
// attributes are as recorded. It is false for an id that the library does not know, or
// has given to another object; a record is believed where the library cannot read. An
// object that gives another error is removed, if possible, and made again.
func (d *Driver) isThere(kind saiattr.Kind, id sai.ObjectID, r *engine.Record) bool {
	var is readBack
	for range reads {
		if is = d.readRecord(kind, id, r); is.unread == nil || unanswered(is.unread) == nil {
			break
		}
	}
	switch {
	case is.differs != nil, is.same > 0 && is.empty != nil:
		return false // and not Sluice's to remove
	case is.same > 0, is.empty != nil, is.unread == nil:
		return true
	case errors.Is(is.unread, sai.ErrNotFound):
		return false
	case errors.Is(is.unread, sai.ErrNotSupported):
		return true
	}
	if !d.connected {
		_ = d.lib.Remove(kind, id)
	}
	return false
}

// unanswered marks an error that leaves open whether an object exists.
func unanswered(err error) error {
	if errors.Is(err, sai.ErrNotFound) || errors.Is(err, sai.ErrNotSupported) {
		return nil
	}
	return err
}

// errNoTable means that an object of a flow is outside Sluice's tables.
var errNoTable = errors.New("it is in no table of Sluice")

// readRecord reads an object back. Of the objects of a flow, which are many, it reads the
// table alone.
func (d *Driver) readRecord(kind saiattr.Kind, id sai.ObjectID, r *engine.Record) (is readBack) {
	of := saiattr.ACLEntryTable
	switch {
	case r.Type == engine.TypeACLCounter:
		of = saiattr.ACLCounterTable
	case r.Type != engine.TypeACLEntry:
		is = d.compare(kind, id, r, d.adopted)
		if is != (readBack{}) {
			return is
		}
		for key := range r.References {
			if d.connected && d.adopted[key] == nil { // another owner's object may have this id now
				is.differs = fmt.Errorf("%s is not there", key)
				return is
			}
		}
		_, err := d.lib.Get(kind, id, kind.Always) // of a record that has nothing to compare
		is.unread = err
		return is
	}
	switch table, err := d.lib.GetObject(kind, id, of); {
	case err != nil:
		is.unread = err
	case d.own[table]:
		is.same++
	case table == sai.Null:
		is.empty = errNoTable
	default:
		is.differs = errNoTable
	}
	return is
}

// Strays implements [engine.Driver]: entries, counters and bindings of Sluice's tables
// that the records lack.
func (d *Driver) Strays(existing map[string]*engine.Record, flows map[engine.ID]bool) (n int, err error) {
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
		for _, e := range d.entriesOf(table) {
			if id := engine.ID(e.String()); flows[id] || known[id] {
				continue
			}
			if c, err := d.lib.GetObject(saiattr.ACLEntry, e, saiattr.ACLEntryCounter); err == nil && c != sai.Null && !known[engine.ID(c.String())] {
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
		if id := engine.ID(c.String()); flows[id] || known[id] {
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

// entriesOf are the entries of a table, as far as the library lists them.
func (d *Driver) entriesOf(table sai.ObjectID) []sai.ObjectID {
	entries, err := d.lib.GetObjects(saiattr.ACLTable, table, saiattr.ACLTableEntries)
	if err == nil {
		return entries
	}
	all, err := d.lib.Objects(saiattr.ACLEntry)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(e sai.ObjectID) bool {
		of, err := d.lib.GetObject(saiattr.ACLEntry, e, saiattr.ACLEntryTable)
		return err != nil || of != table
	})
}

// claim adds the records of bindings of Sluice's tables, and of counters whose entries
// have a record: the ledger is written in parts.
func (d *Driver) claim(existing map[string]*engine.Record, tables map[sai.ObjectID]string, known map[engine.ID]bool) (n int) {
	var found []*engine.Record
	for name, port := range d.ports {
		if existing[engine.PrefixPort+name] != nil {
			continue
		}
		if r := d.boundTo(name, port, tables); r != nil {
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
		if c, err := d.lib.GetObject(saiattr.ACLEntry, entry, saiattr.ACLEntryCounter); err == nil && c != sai.Null {
			found = append(found, &engine.Record{Object: engine.NewCounter(key, table), ID: engine.ID(c.String())})
		}
	}
	for _, r := range found {
		r.Values = nil
		existing[r.Key], known[r.ID] = r, true
	}
	return len(found)
}
