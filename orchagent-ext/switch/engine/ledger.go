// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Ledger records the objects on the switch. It outlives the process. Load returns all
// records in any order. Save writes records by their ID, and forgets gone ones first: an
// ID in both stays.
type Ledger interface {
	Load() ([]*Record, error)
	Save(records []*Record, gone []ID) error
}

// chunk is how many changes the ledger may be behind while objects are created, where the
// driver finds those that it lacks.
const chunk = 512

// backlog has the changes that the ledger lacks. Each waits until the ledger has it.
type backlog struct {
	ledger Ledger
	finder Finder // nil: ids are known before objects are created
	dirty  []*Record
	gone   []ID
}

// add has the ledger write a record.
func (b *backlog) add(r *Record) { b.dirty = append(b.dirty, r) }

// drop has the ledger forget an id. A record of that id which is to be written stays.
func (b *backlog) drop(id ID) { b.gone = append(b.gone, id) }

// forget has the ledger forget an object.
func (b *backlog) forget(id ID) {
	b.dirty = slices.DeleteFunc(b.dirty, func(r *Record) bool { return r.ID == id })
	b.drop(id)
}

// withdraw leaves out the records that are to be written of keys with a prefix.
func (b *backlog) withdraw(prefix string) {
	b.dirty = slices.DeleteFunc(b.dirty, func(r *Record) bool { return strings.HasPrefix(r.Key, prefix) })
}

// mark writes a record that is in the ledger for the time of a change, also if one of an
// attempt before was to be dropped.
func (b *backlog) mark(r *Record) error {
	b.gone = slices.DeleteFunc(b.gone, func(id ID) bool { return id == r.ID })
	b.add(r)
	return b.save()
}

// unlisted reports whether the driver depends on the ledger to find objects: the ledger
// is then written after each call.
func (b *backlog) unlisted() bool { return b.finder != nil && !b.finder.Lists() }

// saveSome writes the ledger once enough changes wait, or after each with a driver that
// depends on it.
func (b *backlog) saveSome() error {
	if len(b.dirty)+len(b.gone) < chunk && !b.unlisted() {
		return nil
	}
	return b.save()
}

// save writes the changes to the ledger. After an error they wait for the next save.
func (b *backlog) save() error {
	if len(b.dirty)+len(b.gone) == 0 {
		return nil
	}
	if err := b.ledger.Save(b.dirty, b.gone); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	b.dirty, b.gone = nil, nil
	return nil
}
