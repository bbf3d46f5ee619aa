// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/yang/rows"
)

// Bounds of a journal.
const (
	mostEntries = 50
	// mostEdits: of all entries together; the newest one stays, however many it has
	mostEdits = 20000
)

// Journal has the rows that the last changes replaced, the oldest first.
type Journal struct {
	// Entries are the changes, the oldest first.
	Entries []Entry `json:"entries"`
	// Point: rows that changes write, before the newest entry
	Point []rows.Row `json:"point"`
}

// Entry is one change.
type Entry struct {
	// Time is that of the change, in seconds, UTC.
	Time time.Time `json:"time"`
	// By is the user who made it.
	By      string `json:"by"`
	Command string `json:"command"` // less the program's name
	// Edits has the rows that it changed.
	Edits []Edit `json:"edits"`
}

// Add appends a change with the configuration that was there before, and drops the oldest entries
// above the limit. A change without edits is left out.
func (j *Journal) Add(before Config, e Entry) {
	if len(e.Edits) == 0 {
		return
	}
	j.Entries = append(j.Entries, e)
	j.Point = before.written()
	edits := 0
	for i, e := range slices.Backward(j.Entries) {
		edits += len(e.Edits)
		if newest := i == len(j.Entries)-1; !newest && (edits > mostEdits || len(j.Entries)-i > mostEntries) {
			j.Entries = slices.Delete(j.Entries, 0, i+1)
			return
		}
	}
}

// Before returns the configuration that was there before the last n changes.
func (j *Journal) Before(n int) (Config, error) {
	if err := j.enough(n); err != nil {
		return nil, err
	}
	c := NewConfig(j.Point)
	for i := len(j.Entries) - 2; i >= len(j.Entries)-n; i-- {
		for _, e := range j.Entries[i].Edits {
			c.put(e, e.Before)
		}
	}
	return c, nil
}

// enough returns an error unless the journal has n changes.
func (j *Journal) enough(n int) error {
	switch {
	case n < 1:
		return fmt.Errorf("%d changes: give 1 or more", n)
	case len(j.Entries) == 0:
		return errors.New("no change by sluice config is known")
	case n > len(j.Entries):
		return fmt.Errorf("%d changes: %d are known", n, len(j.Entries))
	}
	return nil
}

// Undo returns the change that reverts the last n changes, and the journal before them. A
// row that was changed since is an error, unless force is set, or it is as before already.
func (j *Journal) Undo(n int, force bool) (Change, *Journal, error) {
	before, err := j.Before(n)
	if err != nil {
		return nil, nil, err
	}
	taken := j.Entries[len(j.Entries)-n:]
	rest := &Journal{Entries: slices.Clone(j.Entries[:len(j.Entries)-n])}
	if last := len(rest.Entries) - 1; last >= 0 {
		point := maps.Clone(before)
		for _, e := range rest.Entries[last].Edits {
			point.put(e, e.Before)
		}
		rest.Point = point.written()
	}
	return func(c Config) error {
		for _, entry := range slices.Backward(taken) {
			for _, e := range entry.Edits {
				if !force && !c.has(e, e.After) && !c.has(e, e.Before) {
					return &rows.Error{Table: e.Table, Key: e.Key, Reason: fmt.Sprintf("has changed since %q: sluice diff shows it, --force takes it back all the same", entry.Command)}
				}
				c.put(e, e.Before)
			}
		}
		return nil
	}, rest, nil
}
