// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// adoption finds the objects of earlier processes: by their ids in the ledger, and those
// that a killed process was creating by their attributes.
type adoption struct {
	lib     *sai.Library
	options Options
	own     owned

	listing *bool                     // whether the library lists objects; nil: not asked yet
	adopted map[string]*engine.Record // but for those of flows
	flows   map[engine.ID]bool        // entries and counters that were adopted, where the library lists none
	left    []string                  // objects whose owner is not certain
}

// lists reports whether the library lists objects.
func (a *adoption) lists() bool {
	if a.listing == nil {
		_, err := a.lib.Objects(saiattr.ACLCounter)
		lists := err == nil
		a.listing = &lists
	}
	return *a.listing
}

// uncertain returns the objects whose owner is not certain, for the operator.
func (a *adoption) uncertain() []string {
	if !a.options.Connected && len(a.adopted) == 0 {
		return nil
	}
	return a.left
}

// note records an object that was adopted.
func (a *adoption) note(r *engine.Record) {
	if r.Key != "" {
		a.adopted[r.Key] = r
	} else if !a.lists() {
		a.flows[r.ID] = true
		a.flows[engine.ID(r.Attr(saiattr.ACLEntryCounter.Name))] = true
	}
}

// before completes a record that is written before its object is created, by the objects of
// the type that there are; false: entries and counters are found by their table.
func (a *adoption) before(kind saiattr.Kind, r *engine.Record) bool {
	if kind == saiattr.ACLEntry || kind == saiattr.ACLCounter {
		return !a.lists()
	}
	ids, err := a.lib.Objects(kind)
	if err != nil && a.options.Last != nil {
		ids = []sai.ObjectID{a.options.Last(kind.Name)}
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	r.Previous = engine.ID(strings.Join(words, ","))
	return true
}

// find returns the object of a record that was written before it was created, and completes
// the record; Null: it was not created, or another process has created the same.
func (a *adoption) find(kind saiattr.Kind, r *engine.Record) sai.ObjectID {
	fresh := a.candidates(kind, r)
	// a hash of fewer fields, or one that was created for the next id, was not removed yet
	if (r.Type == engine.TypeHash || a.options.Connected) && len(fresh) > 1 {
		for _, id := range fresh[:len(fresh)-1] {
			_ = a.lib.Remove(kind, id)
		}
		fresh = fresh[len(fresh)-1:]
	}
	if len(fresh) != 1 {
		return sai.Null
	}
	r.ID, r.Previous = engine.ID(fresh[0].String()), ""
	return fresh[0]
}

// reads is how often an object is read before an error that may pass counts.
const reads = 3

// isThere reports whether the object of a record is on the switch: all readable
// attributes are as recorded. It is false for an id that the library does not know, or
// has given to another object; a record is believed where the library cannot read. An
// object that gives another error is removed, if possible, and made again.
func (a *adoption) isThere(kind saiattr.Kind, id sai.ObjectID, r *engine.Record) bool {
	var is readBack
	for range reads {
		if is = a.readRecord(kind, id, r); is.unread == nil || unanswered(is.unread) == nil {
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
	if !a.options.Connected {
		_ = a.lib.Remove(kind, id)
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
func (a *adoption) readRecord(kind saiattr.Kind, id sai.ObjectID, r *engine.Record) (is readBack) {
	of := saiattr.ACLEntryTable
	switch {
	case r.Type == engine.TypeACLCounter:
		of = saiattr.ACLCounterTable
	case r.Type != engine.TypeACLEntry:
		is = compare(a.lib, kind, id, r, refs{a.adopted})
		if is != (readBack{}) {
			return is
		}
		for key := range r.References {
			if a.options.Connected && a.adopted[key] == nil { // another owner's object may have this id now
				is.differs = fmt.Errorf("%s is not there", key)
				return is
			}
		}
		_, err := a.lib.Get(kind, id, kind.Always) // of a record that has nothing to compare
		is.unread = err
		return is
	}
	switch table, err := a.lib.GetObject(kind, id, of); {
	case err != nil:
		is.unread = err
	case a.own[table]:
		is.same++
	case table == sai.Null:
		is.empty = errNoTable
	default:
		is.differs = errNoTable
	}
	return is
}
