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
	// Edge marks a batch that was taken at once, at the first change after a pause. Its writer may
	// still be at it: SONiC's set fields of a row by one command, and delete others by the next.
	Edge    bool
	Changes []Change // sorted by table and key, a row once
}

// Watch calls emit with every row of tables, and then with changes. After each call the
// rows that emit was given are those that Redis had a moment before. A change after a
// pause comes at once; that others in quick succession come as one is the rule. A name
// that ends in "*" is that of all tables which begin so. It blocks until ctx is done, and
// returns nil; emit is called by it alone. An empty list of tables is an error.
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
	var last time.Time // when changes were taken
	for {
		var edge reading
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
			var err error
			if edge, err = w.await(ctx, events, last); err != nil {
				return err
			}
		}
		if err := w.follow(ctx, events, edge); err != nil {
			return err
		}
		last = time.Now()
	}
}

// await waits until changes that have begun can be taken: an edge, where the last ones are a pause ago, at once.
func (w *watcher) await(ctx context.Context, e *events, last time.Time) (edge reading, err error) {
	if time.Since(last) >= w.db.timing.quiet {
		if edge, err = w.readEdge(ctx, e); edge.edge || err != nil {
			return edge, err
		}
	}
	if !w.db.timing.gather(ctx, e.wake) {
		return reading{}, ctx.Err()
	}
	return reading{}, nil
}

// follow emits what changed. Of an edge it takes what no change followed.
func (w *watcher) follow(ctx context.Context, e *events, edge reading) error {
	keys, all, changes, err := e.take()
	if err != nil {
		return err
	}
	r := edge
	if !edge.edge || edge.changes != changes {
		if r, err = w.read(ctx, keys, all); err != nil {
			return err
		}
		r.edge = edge.edge
	}
	w.take(r, all)
	return nil
}

// mostAtOnce is how many rows are taken at the first change after a pause. Of more, others follow.
const mostAtOnce = 4

// readEdge reads the rows of the first change after a pause. There is no edge where another change
// comes meanwhile, as the rest of a transaction does, nor where a row is gone, which may be written again.
func (w *watcher) readEdge(ctx context.Context, e *events) (reading, error) {
	keys, changes := e.few(mostAtOnce)
	if keys == nil || w.view == nil {
		return reading{}, nil
	}
	r, err := w.read(ctx, keys, false)
	if _, now := e.few(mostAtOnce); now != changes || len(r.rows) < len(keys) {
		return reading{}, err
	}
	r.edge, r.changes = err == nil, changes
	return r, err
}

// reading is rows as Redis has them.
type reading struct {
	keys    []string
	rows    map[string]reread // those that there are
	edge    bool              // of readEdge
	changes uint64            // count of changes before an edge
}

// reread is a row that there is. Its fields are nil where it is as before.
type reread struct {
	sum    uint64
	fields map[string]string
}

// read reads the rows of keys, or all. It keeps fields of those alone that differ: a database may have
// a hundred thousand.
func (w *watcher) read(ctx context.Context, keys []string, all bool) (reading, error) {
	if all || w.view == nil {
		var err error
		if keys, err = w.db.keys(ctx, w.tables); err != nil {
			return reading{}, err
		}
	}
	r := reading{keys: keys, rows: make(map[string]reread, len(keys))}
	err := w.db.readEach(ctx, w.db.client, keys, func(k string, fields map[string]string) {
		is := reread{sum: w.sum(fields)}
		if was, known := w.view[k]; !known || was != is.sum {
			is.fields = fields
		}
		r.rows[k] = is
	})
	return r, err
}

// take emits the differences of what was read, which may be all.
func (w *watcher) take(r reading, all bool) {
	b := Batch{Initial: w.view == nil, Edge: r.edge}
	keys := r.keys
	if all || b.Initial {
		w.wasRead()
		keys = slices.AppendSeq(keys, maps.Keys(w.view))
	}
	for k, is := range r.rows {
		if is.fields != nil {
			w.view[k] = is.sum
			b.Changes = append(b.Changes, Change{Row: w.db.row(k, is.fields)})
		}
	}
	for _, k := range keys {
		_, is := r.rows[k]
		if _, was := w.view[k]; was && !is {
			delete(w.view, k)
			b.Changes = append(b.Changes, Change{Row: w.db.row(k, nil), Deleted: true})
		}
	}
	slices.SortFunc(b.Changes, func(a, b Change) int { return strings.Compare(w.db.redisKey(a.Row), w.db.redisKey(b.Row)) })
	if b.Initial || len(b.Changes) > 0 {
		w.emit(b)
	}
}

// wasRead notes that Redis was read whole.
func (w *watcher) wasRead() {
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
