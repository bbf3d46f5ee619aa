// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openconfig/gnmi/match"
	"golang.org/x/sync/errgroup"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Live holds all leaves as the databases last had them, and passes changes to
// subscribers.
type Live struct {
	ready     chan struct{} // closed when all databases have been read
	readyOnce sync.Once
	match     *match.Match
	telling   sync.Mutex // one batch at a time
	told      map[match.Client]struct{}

	mu      sync.RWMutex
	applied chan struct{}   // closed by the next Apply
	missing map[string]bool // databases still to be read
	rows    map[*paths.Table]map[string]*entry
	wanted  [2]map[*paths.Table]int // queries of subscribers, by style
	making  sync.Mutex              // held, within mu, while cells of a row are made
}

// NewLive returns a view with only the rows that always exist. Its rows come with
// [Live.Run]; until [Live.Ready] the view is a part only.
func NewLive() *Live {
	l := &Live{
		ready: make(chan struct{}), match: match.New(), told: make(map[match.Client]struct{}),
		missing: make(map[string]bool), applied: make(chan struct{}),
		rows:   make(map[*paths.Table]map[string]*entry),
		wanted: [2]map[*paths.Table]int{make(map[*paths.Table]int), make(map[*paths.Table]int)},
	}
	for _, name := range paths.Databases {
		l.missing[name] = true
	}
	for _, t := range paths.Tables() {
		l.rows[t] = make(map[string]*entry)
	}
	return l
}

// Run follows databases until ctx is done; then it returns nil. The error is that of a
// database that cannot be followed. It is called once.
func (l *Live) Run(ctx context.Context, databases map[string]*sonicdb.DB) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range paths.Databases {
		group.Go(func() error {
			err := databases[name].Watch(ctx, rows.Tables(name), func(b sonicdb.Batch) { l.Apply(name, b) })
			if err != nil {
				return fmt.Errorf("follow %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Ready is closed once every database has been read. It stays closed, also when a
// database is lost later: the leaves are then as last read.
func (l *Live) Ready() <-chan struct{} { return l.ready }

// Apply takes the changes of a database, found now. It is exported for tests, which
// replace the database.
func (l *Live) Apply(database string, b sonicdb.Batch) {
	l.telling.Lock()
	defer l.telling.Unlock()

	l.mu.Lock()
	// The clock is read while Select cannot run, so that a caller who reads the clock
	// and then calls Select has every older change.
	at := time.Now()
	var changed []*Cell
	for _, c := range b.Changes {
		if t := paths.Lookup(c.Row.Table); t != nil {
			changed = append(changed, l.row(t, c, at)...)
		}
	}
	if b.Initial {
		for _, t := range paths.Tables() {
			if t.Database == database && always(t) && l.rows[t][t.Row] == nil {
				changed = append(changed, l.row(t, sonicdb.Change{Row: rows.Row{Table: t.Name, Key: t.Row}, Deleted: true}, at)...)
			}
		}
		delete(l.missing, database)
	}
	all := len(l.missing) == 0
	close(l.applied)
	l.applied = make(chan struct{})
	l.mu.Unlock()

	for _, c := range changed {
		clear(l.told)
		l.match.UpdateOnce(c, paths.Index(c.row.style, c.row.table, c.row.key, c.name), l.told)
	}
	if all {
		l.readyOnce.Do(func() { close(l.ready) })
	}
}

// Await waits until the view holds the rows of changes, or ctx is done. It returns in
// both cases: check ctx where it matters. Other writers may change a row so that it is
// never held.
func (l *Live) Await(ctx context.Context, changes []sonicdb.Change) {
	for {
		l.mu.RLock()
		next := l.applied
		missing := slices.ContainsFunc(changes, func(c sonicdb.Change) bool { return !l.holds(c) })
		l.mu.RUnlock()
		if !missing {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// holds is called with mu held.
func (l *Live) holds(c sonicdb.Change) bool {
	t := paths.Lookup(c.Row.Table)
	e := l.rows[t][c.Row.Key]
	if c.Deleted {
		return e == nil || !e.there
	}
	return slices.Equal(Expand(paths.SonicDB, t, c.Row.Key, c.Row.Fields), e.leaves(paths.SonicDB, t, c.Row.Key))
}

// row applies a change to a row and returns the cells that differ since, of those that streams
// have asked for. Its caller holds mu.
func (l *Live) row(t *paths.Table, c sonicdb.Change, at time.Time) []*Cell {
	key := c.Row.Key
	e := l.rows[t][key]
	if e == nil {
		if c.Deleted && !always(t) {
			return nil
		}
		e = &entry{}
		for s := range e.shown { // no leaf was there, not even a default
			if l.wanted[s][t] > 0 {
				e.shown[s] = &shown{style: paths.Style(s), table: t, key: key}
			}
		}
		l.rows[t][key] = e
	}
	for s := range e.shown {
		if l.wanted[s][t] > 0 {
			l.show(e, paths.Style(s), t, key) // as it was
		}
	}
	e.fields, e.at, e.there = sonicdb.Pack(c.Row.Fields), at, !c.Deleted
	var changed []*Cell
	for s, shown := range e.shown {
		if shown != nil {
			changed = append(changed, shown.set(e.leaves(paths.Style(s), t, key), at)...)
		}
	}
	if c.Deleted && !always(t) {
		delete(l.rows[t], key)
	}
	return changed
}

// show returns a row in a style, with its cells. Its caller holds mu, for reading at least.
func (l *Live) show(e *entry, s paths.Style, t *paths.Table, key string) *shown {
	l.making.Lock()
	defer l.making.Unlock()
	if e.shown[s] == nil {
		e.shown[s] = &shown{style: s, table: t, key: key}
		e.shown[s].set(e.leaves(s, t, key), e.at)
	}
	return e.shown[s]
}

// Select returns the cells that a query means, sorted by table, key and leaf. The cells
// are shared with the view; the slice is the caller's.
func (l *Live) Select(q *paths.Query) []*Cell {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var all []*Cell
	for i := range q.Parts {
		p := &q.Parts[i]
		of := l.rows[p.Table]
		var keys []string
		if key, ok := p.Key(); ok && !p.Table.Spelled {
			keys = []string{key}
		} else {
			keys = slices.Sorted(maps.Keys(of))
		}
		for _, key := range keys {
			if e := of[key]; e != nil && p.HasRow(key) {
				all = append(all, l.show(e, q.Style, p.Table, key).named(p.Leaves)...)
			}
		}
	}
	return all
}

// Row returns the cells of the row that a cell is in, sorted; nil if the row is gone. A
// row that came again has other cells.
func (l *Live) Row(c *Cell) []*Cell {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e := l.rows[c.row.table][c.row.key]
	if e == nil {
		return nil
	}
	return slices.Clone(l.show(e, c.row.style, c.row.table, c.row.key).cells)
}

// Subscribe has client.Update called with every *[Cell] that queries name when it
// changes, until stop is called. Update must return at once: it holds up all subscribers.
func (l *Live) Subscribe(client match.Client, queries ...*paths.Query) (stop func()) {
	l.want(1, queries)
	var removes []func()
	for _, q := range queries {
		for _, index := range q.Indexes() {
			removes = append(removes, l.match.AddQuery(index, client))
		}
	}
	return sync.OnceFunc(func() {
		for _, remove := range removes {
			remove()
		}
		l.want(-1, queries)
	})
}

// want counts n more queries of subscribers.
func (l *Live) want(n int, queries []*paths.Query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range queries {
		for i := range q.Parts {
			l.wanted[q.Style][q.Parts[i].Table] += n
		}
	}
}
