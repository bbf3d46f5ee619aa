// SPDX-License-Identifier: Apache-2.0

package settings

import (
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
	File  string // of the journal; empty: no journal is kept
	Dry   bool   // nothing is written
	Now   func() time.Time
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
	return w.write(ctx, func(j *Journal) (Change, func(Config, []Edit) *Journal, error) {
		return change, func(before Config, edits []Edit) *Journal {
			j.add(before, Entry{Time: w.Now().UTC().Truncate(time.Second), By: by, Command: command, Edits: edits})
			return j
		}, nil
	})
}

// Undo takes the last n changes back.
func (w *Writer) Undo(ctx context.Context, n int, force bool) ([]Edit, error) {
	if w.File == "" {
		return nil, errors.New("without a journal no change can be taken back")
	}
	return w.write(ctx, func(j *Journal) (Change, func(Config, []Edit) *Journal, error) {
		change, rest, err := j.Undo(n, force)
		return change, func(Config, []Edit) *Journal { return rest }, err
	})
}

// write calls wanted with the journal and carries out its result, a change and the next
// journal. The journal is written first: a change that it lacks could not be reverted.
func (w *Writer) write(ctx context.Context, wanted func(*Journal) (Change, func(Config, []Edit) *Journal, error)) ([]Edit, error) {
	unlock, err := w.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for try := 0; ; try++ {
		edits, err := w.try(ctx, wanted)
		if !errors.Is(err, sonicdb.ErrChanged) || try == retries {
			return edits, err
		}
	}
}

// try reads journal and rows once, and writes the change only if the rows are still the
// same. The error is [sonicdb.ErrChanged] if another process was faster; write tries
// again then.
func (w *Writer) try(ctx context.Context, wanted func(*Journal) (Change, func(Config, []Edit) *Journal, error)) ([]Edit, error) {
	var old, kept Journal
	if w.File != "" {
		if err := errors.Join(files.ReadState(w.File, &old), files.ReadState(w.File, &kept)); err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
	}
	change, journal, err := wanted(&kept)
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
	next := journal(now, edits)
	keep := func(j *Journal) error {
		if w.File == "" {
			return nil
		}
		return files.WriteState(w.File, j, nil)
	}
	if err := keep(next); err != nil {
		return nil, fmt.Errorf("nothing was written to CONFIG_DB: write journal: %w; --journal '' keeps none", err)
	}
	was, changes := swap(edits)
	if err := w.Store.Swap(ctx, was, changes...); err != nil {
		if !errors.Is(err, sonicdb.ErrUnknown) {
			err = errors.Join(err, keep(&old))
		}
		return nil, err
	}
	return edits, nil
}

// lock keeps other commands from the journal until unlock.
func (w *Writer) lock(ctx context.Context) (unlock func(), err error) {
	if w.File == "" || w.Dry {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(w.File), 0o755); err != nil {
		return nil, fmt.Errorf("nothing was written to CONFIG_DB: make the journal's folder: %w; --journal '' keeps none", err)
	}
	f, err := os.OpenFile(w.File+".lock", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("nothing was written to CONFIG_DB: lock the journal: %w; --journal '' keeps none", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !clock.Sleep(ctx, poll) {
			_ = f.Close()
			return nil, fmt.Errorf("another command is changing CONFIG_DB: lock %s: %w", w.File, err)
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
