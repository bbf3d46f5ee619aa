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
	"sluice/gnmi-server/encoding"
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
	rows    [2]map[*paths.Table]map[string]map[string]*Cell
}

// NewLive returns a view with only the rows that always exist. Its rows come with
// [Live.Run]; until [Live.Ready] the view is a part only.
func NewLive() *Live {
	l := &Live{
		ready: make(chan struct{}), match: match.New(), told: make(map[match.Client]struct{}),
		missing: make(map[string]bool), applied: make(chan struct{}),
	}
	for _, name := range paths.Databases {
		l.missing[name] = true
	}
	for s := range l.rows {
		l.rows[s] = make(map[*paths.Table]map[string]map[string]*Cell)
		for _, t := range paths.Tables() {
			l.rows[s][t] = make(map[string]map[string]*Cell)
		}
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
			if t.Database == database && always(t) && l.rows[paths.YANG][t][t.Row] == nil {
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
		l.match.UpdateOnce(c, c.index, l.told)
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
	cells := l.rows[paths.SonicDB][t][c.Row.Key]
	if c.Deleted {
		return len(cells) == 0
	}
	leaves := Expand(paths.SonicDB, t, c.Row.Key, c.Row.Fields)
	return len(leaves) == len(cells) && !slices.ContainsFunc(leaves, func(leaf encoding.Leaf) bool {
		return cells[leaf.Name] == nil || cells[leaf.Name].State().Text != leaf.Text
	})
}

// row applies a change to the cells of its row and returns the cells that differ since.
// Its caller holds mu.
func (l *Live) row(t *paths.Table, c sonicdb.Change, at time.Time) []*Cell {
	var changed []*Cell
	for s := range l.rows {
		style := paths.Style(s)
		var leaves []encoding.Leaf
		if !c.Deleted || style == paths.YANG && always(t) {
			leaves = Expand(style, t, c.Row.Key, c.Row.Fields)
		}
		cells := l.rows[s][t][c.Row.Key]
		seen := make(map[string]bool, len(leaves))
		for _, leaf := range leaves {
			seen[leaf.Name] = true
			cell := cells[leaf.Name]
			if cell == nil {
				cell = newCell(style, leaf)
				if cells == nil {
					cells = make(map[string]*Cell, len(leaves))
					l.rows[s][t][c.Row.Key] = cells
				}
				cells[leaf.Name] = cell
			} else if cell.State().Text == leaf.Text {
				continue
			}
			cell.set(leaf.Text, at, true)
			changed = append(changed, cell)
		}
		for name, cell := range cells {
			if !seen[name] {
				cell.set("", at, false)
				changed = append(changed, cell)
				delete(cells, name)
			}
		}
		if len(cells) == 0 {
			delete(l.rows[s][t], c.Row.Key)
		}
	}
	return changed
}

// Select returns the cells that a query means, sorted by table, key and leaf. The cells
// are shared with the view; the slice is the caller's.
func (l *Live) Select(q *paths.Query) []*Cell {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var all []*Cell
	for i := range q.Parts {
		p := &q.Parts[i]
		of := l.rows[q.Style][p.Table]
		var keys []string
		if key, ok := p.Key(); ok && !p.Table.Spelled {
			keys = []string{key}
		} else {
			keys = slices.Sorted(maps.Keys(of))
		}
		for _, key := range keys {
			if p.HasRow(key) {
				all = append(all, leavesOf(of[key], p.Leaves)...)
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
	return leavesOf(l.rows[c.style][c.leaf.Table][c.leaf.Key], nil)
}

// leavesOf returns the cells of a row by the names of leaves; nil: all.
func leavesOf(row map[string]*Cell, names []string) []*Cell {
	if names == nil {
		names = slices.Sorted(maps.Keys(row))
	}
	all := make([]*Cell, 0, len(names))
	for _, name := range names {
		if c := row[name]; c != nil {
			all = append(all, c)
		}
	}
	return all
}

// Subscribe has client.Update called with every *[Cell] that queries name when it
// changes, until stop is called. Update must return at once: it holds up all subscribers.
func (l *Live) Subscribe(client match.Client, queries ...*paths.Query) (stop func()) {
	var removes []func()
	for _, q := range queries {
		for _, index := range q.Indexes() {
			removes = append(removes, l.match.AddQuery(index, client))
		}
	}
	return func() {
		for _, remove := range removes {
			remove()
		}
	}
}
