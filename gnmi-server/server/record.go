// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/files"
	"sluice/yang/rows"
)

// record has the rows that an unconfirmed commit restores when it is taken back.
type record struct {
	// ID is that of the commit, which the client chose.
	ID string `json:"id"`
	// Deadline is the time at which the commit is taken back.
	Deadline time.Time `json:"deadline"`
	// Rows are the rows that it replaced.
	Rows []savedRow `json:"rows"`
}

// savedRow is a row before the commit.
type savedRow struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	// There is false for a row that the commit created.
	There  bool              `json:"there"`
	Fields map[string]string `json:"fields,omitempty"`
}

// saved returns the rows of changes as they were.
func saved(was []rows.Row, changes []sonicdb.Change) []savedRow {
	known := make(map[string]rows.Row)
	for _, r := range was {
		known[r.Name()] = r
	}
	var all []savedRow
	for _, c := range changes {
		r, there := known[c.Row.Name()]
		all = append(all, savedRow{Table: c.Row.Table, Key: c.Row.Key, There: there, Fields: r.Fields})
	}
	return all
}

// undo returns the changes that restore the rows, and the rows as they are now.
func (r *record) undo(all []rows.Row) (was []rows.Row, changes []sonicdb.Change) {
	now := make(map[string]rows.Row)
	for _, row := range all {
		now[row.Name()] = row
	}
	for _, s := range r.Rows {
		row := rows.Row{Table: s.Table, Key: s.Key, Fields: s.Fields}
		is, there := now[row.Name()]
		if there == s.There && maps.Equal(is.Fields, s.Fields) {
			continue
		}
		if there {
			was = append(was, is)
		}
		changes = append(changes, sonicdb.Change{Row: row, Deleted: !s.There})
	}
	return was, changes
}

// save writes the record so that a crash leaves the whole new record or the whole old
// one.
func (r *record) save(path string) error {
	if err := files.WriteState(path, r); err != nil {
		return fmt.Errorf("keep what the commit takes back: %w", err)
	}
	return nil
}

// loadRecord returns the record in a file; nil if the file is missing or unreadable: warn gets
// the reason of the latter.
func loadRecord(path string, warn func(error)) *record {
	var r *record
	files.ReadOptional(path, &r, warn)
	if r != nil && r.ID == "" {
		warn(files.SetAside(path, fmt.Errorf("%s: it has no commit", path)))
		return nil
	}
	return r
}

// removeRecord removes the file of the record, for good even after a power failure: it
// syncs the folder. A missing file is a success.
func removeRecord(path string) error {
	if err := files.RemoveState(path); err != nil {
		return fmt.Errorf("end the commit: %w", err)
	}
	return syncFolder(path)
}

// syncFolder has the folder of a file written to disk.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
