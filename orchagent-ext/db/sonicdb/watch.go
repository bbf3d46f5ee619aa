// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/host/clock"
	"sluice/yang/rows"
)

// Change is a row that was set or is gone.
type Change struct {
	Row     rows.Row // with all its fields
	Deleted bool     // Row has table and key only
}

// Batch has the changes since the batch before.
type Batch struct {
	// Initial marks the first batch, which holds every row of the first reading, and may be
	// empty.
	Initial bool
	Changes []Change // sorted by table and key, a row once
}

// Watch calls emit with every row of tables, and then with changes. After each call the
// rows that emit was given are those that Redis had a moment before; that changes in
// quick succession come as one is the rule. A name that ends in "*" is that of all
// tables which begin so. It blocks until ctx is done, and returns nil; emit is called by
// it alone. An empty list of tables is an error.
//
// Redis may be down: the rows stay as they were until it is back and has loaded its dump,
// and then come the differences. An empty database, or lost events, are differences like
// any.
func (db *DB) Watch(ctx context.Context, tables []string, emit func(Batch)) error {
	if len(tables) == 0 {
		return errors.New("watch: no tables")
	}
	w := watcher{db: db, tables: slices.Clone(tables), emit: emit}
	delay := db.timing.backoff
	for {
		before := w.reads
		err := w.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		locked := isLocked(err)
		// a connection may end before Redis refuses the next
		if !w.lost || locked && !w.locked {
			w.lost, w.locked = true, locked
			db.log.Warn("the database cannot be read; trying until it can", "error", db.explain(err))
		}
		if w.reads > before {
			delay = db.timing.backoff
		}
		if !clock.Sleep(ctx, delay) {
			return nil
		}
		delay = min(2*delay, db.timing.longest)
	}
}

// watcher is a running Watch.
type watcher struct {
	db     *DB
	tables []string
	emit   func(Batch)
	view   view // rows of the last emit; nil before the first full read
	reads  int  // full ones
	lost   bool // Redis cannot be read
	locked bool // by its user default, and that was logged
	silent bool // events are off in Redis
}

// session subscribes, reads all, and follows the events until something fails.
func (w *watcher) session(ctx context.Context) error {
	events, stop := w.subscribe(ctx)
	defer stop()
	if err := w.checkEvents(ctx); err != nil {
		return err
	}
	poll := time.NewTicker(w.db.timing.poll)
	defer poll.Stop()
	resync := time.NewTicker(w.db.timing.resync)
	defer resync.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
			was := w.silent
			if err := w.checkEvents(ctx); err != nil {
				return err
			}
			if !was && !w.silent {
				continue
			}
			events.everything() // also when events have begun again: earlier ones are lost
		case <-resync.C:
			events.everything()
		case <-events.wake:
			if !w.db.timing.gather(ctx, events.wake) {
				return ctx.Err()
			}
		}
		keys, all, err := events.take()
		if err != nil {
			return err
		}
		if err := w.read(ctx, keys, all); err != nil {
			return err
		}
	}
}

// read reads the rows of keys, or all, and emits the differences.
func (w *watcher) read(ctx context.Context, keys []string, all bool) error {
	if all || w.view == nil {
		now, err := w.db.readAll(ctx, w.tables)
		if err != nil {
			return err
		}
		w.reads++
		if w.lost {
			w.lost, w.locked = false, false
			w.db.log.Info("the database is read again")
		}
		initial := w.view == nil
		if initial {
			w.view = make(view)
		}
		keys = slices.Collect(maps.Keys(now))
		for k := range w.view {
			if now[k] == nil {
				keys = append(keys, k)
			}
		}
		w.compare(keys, now, initial)
		return nil
	}
	now, err := w.db.readKeys(ctx, keys)
	if err != nil {
		return err
	}
	w.compare(keys, now, false)
	return nil
}

// compare emits the differences of keys.
func (w *watcher) compare(keys []string, now view, initial bool) {
	slices.Sort(keys)
	b := Batch{Initial: initial}
	for _, k := range keys {
		is, there := now[k]
		was, known := w.view[k]
		switch {
		case there && (!known || !maps.Equal(was, is)):
			w.view[k] = is
			b.Changes = append(b.Changes, Change{Row: w.db.row(k, maps.Clone(is))})
		case !there && known:
			delete(w.view, k)
			b.Changes = append(b.Changes, Change{Row: w.db.row(k, nil), Deleted: true})
		}
	}
	if b.Initial || len(b.Changes) > 0 {
		w.emit(b)
	}
}
