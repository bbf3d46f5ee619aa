// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/host/files"
	"sluice/yang/rows"
)

// Store is CONFIG_DB.
type Store interface {
	Read(ctx context.Context, tables ...string) ([]rows.Row, error)
	Swap(ctx context.Context, was []rows.Row, changes ...sonicdb.Change) error
}

// Writer changes a Store.
type Writer struct {
	Store Store
	File  string // of the journal; empty: the journal is off
	Dry   bool   // a trial: writes are skipped
	Now   func() time.Time
	Warn  func(error) // takes the reason why a change was written that the journal lacks

	patience time.Duration // to wait for another command that is writing; 0: [patience]
}

// retries is how often a change is tried again while others write the same rows, and
// patience how long one waits for another command that is writing.
const (
	retries  = 10
	patience = 10 * time.Second
	poll     = 20 * time.Millisecond
)

// Read returns the rows of Sluice's tables in CONFIG_DB, and of the tables that these
// refer to.
func Read(ctx context.Context, s Store) (Config, error) {
	all, err := s.Read(ctx, append(rows.Tables(database), References()...)...)
	return NewConfig(all), err
}

// Change writes a change, all of it or nothing, with a journal entry. It returns the
// edits, which are empty where the rows were already as requested.
func (w *Writer) Change(ctx context.Context, by, command string, change Change) ([]Edit, error) {
	return w.write(ctx, disables, func(j *Journal, _ error) (Change, func(Config, []Edit) *Journal, error) {
		return change, func(before Config, edits []Edit) *Journal {
			j.Add(before, Entry{Time: w.Now().UTC().Truncate(time.Second), By: by, Command: command, Edits: edits})
			return j
		}, nil
	})
}

// Undo takes the last n changes back.
func (w *Writer) Undo(ctx context.Context, n int, force bool) ([]Edit, error) {
	if w.File == "" {
		return nil, errors.New("without a journal no change can be taken back")
	}
	always := func([]Edit) bool { return true }
	return w.write(ctx, always, func(j *Journal, unread error) (Change, func(Config, []Edit) *Journal, error) {
		if unread != nil {
			return nil, nil, unread
		}
		change, rest, err := j.Undo(n, force)
		return change, func(Config, []Edit) *Journal { return rest }, err
	})
}

// disables reports whether edits do no more than disable: such a change is safe, and written
// whatever becomes of the journal.
func disables(edits []Edit) bool {
	for _, e := range edits {
		if len(e.After) == 0 { // of a row that is removed, or has nothing that disables
			return false
		}
		for name := range union(e.Before, e.After) {
			if e.Before[name] != e.After[name] && e.After[name] != "disabled" {
				return false
			}
		}
	}
	return true
}

// An order returns a change and the journal after it; unread is why the journal is not known.
type order func(j *Journal, unread error) (Change, func(Config, []Edit) *Journal, error)

// write carries out an order, and keeps the next journal. The journal is written first: a change that
// it lacks cannot be reverted. Where it cannot be kept only what must be done is.
func (w *Writer) write(ctx context.Context, must func([]Edit) bool, wanted order) ([]Edit, error) {
	unlock, unlocked := w.lock(ctx)
	defer unlock()
	for try := 0; ; try++ {
		edits, err := w.try(ctx, unlocked, must, wanted)
		if !errors.Is(err, sonicdb.ErrChanged) || try == retries {
			return edits, err
		}
	}
}

// try reads journal and rows once, and writes the change only if the rows are still the
// same. The error is [sonicdb.ErrChanged] if another process was faster; write tries
// again then.
func (w *Writer) try(ctx context.Context, unkept error, must func([]Edit) bool, wanted order) ([]Edit, error) {
	var old, kept Journal
	var unread error
	if w.File != "" {
		if err := errors.Join(files.ReadState(w.File, &old), files.ReadState(w.File, &kept)); err != nil {
			unread = fmt.Errorf("read journal: %w", err)
			unkept = cmp.Or(unkept, unread)
		}
	}
	change, journal, err := wanted(&kept, unread)
	if err != nil {
		return nil, err
	}
	now, err := Read(ctx, w.Store)
	if err != nil {
		return nil, err
	}
	_, edits, err := now.Apply(change)
	if err != nil || w.Dry {
		return edits, err
	}
	keep := func(j *Journal) error {
		if w.File == "" {
			return nil
		}
		return files.WriteState(w.File, j)
	}
	if unkept == nil {
		if err := keep(journal(now, edits)); err != nil {
			unkept = fmt.Errorf("write journal: %w", err)
		}
	}
	if unkept != nil && !must(edits) {
		return nil, fmt.Errorf("nothing was written to CONFIG_DB: %w; --journal '' keeps none", unkept)
	}
	was, changes := swap(edits)
	if err := w.Store.Swap(ctx, was, changes...); err != nil {
		if !errors.Is(err, sonicdb.ErrUnknown) && unkept == nil {
			err = errors.Join(err, keep(&old))
		}
		return nil, err
	}
	if unkept != nil && w.Warn != nil {
		w.Warn(unkept)
	}
	return edits, nil
}

// lock keeps other commands from the journal until unlock, which is never nil.
func (w *Writer) lock(ctx context.Context) (unlock func(), err error) {
	if w.File == "" || w.Dry {
		return func() {}, nil
	}
	return lockJournal(ctx, w.File, cmp.Or(w.patience, patience))
}

// LockJournal keeps other commands from a file of journals until unlock, which is never nil.
func LockJournal(ctx context.Context, file string) (unlock func(), err error) {
	return lockJournal(ctx, file, patience)
}

// lockJournal is LockJournal, which waits so long.
func lockJournal(ctx context.Context, file string, patience time.Duration) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return func() {}, fmt.Errorf("make the journal's folder: %w", err)
	}
	f, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return func() {}, fmt.Errorf("lock the journal: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !clock.Sleep(ctx, poll) {
			_ = f.Close()
			return func() {}, fmt.Errorf("another command is changing it: lock %s: %w", file, err)
		}
	}
}

// Known returns the journal.
func (w *Writer) Known() (Journal, error) {
	var j Journal
	if w.File == "" {
		return j, nil
	}
	err := files.ReadState(w.File, &j)
	return j, err
}
