// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
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
	w := watcher{db: db, tables: slices.Clone(tables), emit: emit, seed: maphash.MakeSeed()}
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
	view   map[string]uint64 // sums of the rows of the last emit, by their keys in Redis; nil before the first full read
	seed   maphash.Seed      // of the sums
	reads  int               // full ones
	lost   bool              // Redis cannot be read
	locked bool              // by its user default, and that was logged
	silent bool              // events are off in Redis
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

// read reads the rows of keys, or all, and emits the differences. It keeps sums of rows, and of
// what it reads only rows that differ: a database may have a hundred thousand.
func (w *watcher) read(ctx context.Context, keys []string, all bool) error {
	all = all || w.view == nil
	if all {
		var err error
		if keys, err = w.db.keys(ctx, w.tables); err != nil {
			return err
		}
	}
	there := make(map[string]struct{}, len(keys))
	now := make(map[string]uint64) // of rows that differ
	var changes []Change
	err := w.db.readEach(ctx, w.db.client, keys, func(k string, fields map[string]string) {
		there[k] = struct{}{}
		is := w.sum(fields)
		if was, known := w.view[k]; !known || was != is {
			now[k] = is
			changes = append(changes, Change{Row: w.db.row(k, fields)})
		}
	})
	if err != nil {
		return err
	}
	b := Batch{Initial: w.view == nil, Changes: changes}
	if all {
		w.found()
		keys = slices.AppendSeq(keys, maps.Keys(w.view))
	}
	for _, k := range keys {
		_, is := there[k]
		if _, was := w.view[k]; was && !is {
			delete(w.view, k)
			b.Changes = append(b.Changes, Change{Row: w.db.row(k, nil), Deleted: true})
		}
	}
	maps.Copy(w.view, now)
	slices.SortFunc(b.Changes, func(a, b Change) int { return strings.Compare(w.db.redisKey(a.Row), w.db.redisKey(b.Row)) })
	if b.Initial || len(b.Changes) > 0 {
		w.emit(b)
	}
	return nil
}

// found notes that Redis was read whole.
func (w *watcher) found() {
	w.reads++
	if w.lost {
		w.lost, w.locked = false, false
		w.db.log.Info("the database is read again")
	}
	if w.view == nil {
		w.view = make(map[string]uint64)
	}
}

// sum returns a sum of a row's fields, which is that of other fields once in 2^64.
func (w *watcher) sum(fields map[string]string) (sum uint64) {
	for name, value := range fields {
		sum += maphash.Comparable(w.seed, [...]string{name, value})
	}
	return sum
}
