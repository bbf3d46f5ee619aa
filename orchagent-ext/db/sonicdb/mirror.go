// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/host/clock"
	"sluice/yang/rows"
)

// Mirror keeps tables that Sluice alone writes as the caller sets them: it holds the
// rows, and writes the differences. Redis coming back empty, or SONiC flushing the
// database, is such a difference, seen within a second.
type Mirror struct {
	db     *DB
	tables []string
	wake   chan struct{} // of capacity 1

	mu      sync.Mutex
	desired map[string]map[string]Packed // by table and key in Redis
	touched map[string]bool              // keys that may differ
	all     bool                         // every key may differ, and Redis is to be asked

	writing sync.Mutex        // held while rows are written
	written map[string]Packed // rows of Redis, as far as is known
}

// NewMirror returns a mirror of tables of db. Rows that Redis has at the first write, and
// that are unset by then, are deleted.
func NewMirror(db *DB, tables ...string) *Mirror {
	return &Mirror{
		db: db, tables: slices.Clone(tables), wake: make(chan struct{}, 1), all: true,
		desired: map[string]map[string]Packed{}, touched: map[string]bool{}, written: map[string]Packed{},
	}
}

// Adopt reads the tables, makes the rows of one of them the wanted ones, as if each was
// set, and returns them. A mirror that adopts before its first write skips the reading
// there.
func (m *Mirror) Adopt(ctx context.Context, table string) ([]rows.Row, error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	keys, err := m.db.keys(ctx, m.tables)
	if err != nil {
		return nil, err
	}
	var all []rows.Row
	is := func(k string) bool { t, _, _ := m.db.split(k); return t == table }
	written := make(map[string]Packed, len(keys))
	err = m.db.readEach(ctx, m.db.client, keys, func(k string, fields map[string]string) {
		written[k] = pack(fields)
		if is(k) {
			all = append(all, m.db.row(k, fields))
		}
	})
	if err != nil {
		return nil, err
	}
	m.written = written
	m.change(func() {
		for k, fields := range written {
			if is(k) {
				m.put(k, fields)
			} else {
				m.touched[k] = true
			}
		}
		for _, of := range m.desired {
			for k, fields := range of {
				if m.written[k] == fields {
					delete(m.touched, k)
				} else {
					m.touched[k] = true
				}
			}
		}
		m.all = false
	})
	return all, nil
}

// Written returns the rows of a table that Redis holds, as far as is known. The rows are
// copies, in any order. It waits for a write that is under way.
func (m *Mirror) Written(table string) (all []rows.Row) {
	m.writing.Lock()
	defer m.writing.Unlock()
	for k, fields := range m.written {
		if t, _, _ := m.db.split(k); t == table {
			all = append(all, m.db.row(k, withoutNull(fields.Unpack())))
		}
	}
	return all
}

// Wanted returns the rows of a table as they were set. The rows are copies, in any order;
// it returns at once.
func (m *Mirror) Wanted(table string) (all []rows.Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, fields := range m.desired[table] {
		all = append(all, m.db.row(k, fields.Unpack()))
	}
	return all
}

// Set gives a row exactly these fields. The fields are copied. [Mirror.Run] writes them
// soon, [Mirror.Flush] at once; the same fields again cost nothing.
func (m *Mirror) Set(r rows.Row) {
	m.change(func() { m.set(m.db.redisKey(r), r.Fields) })
}

// Delete takes a row away. A row that Redis lacks costs nothing.
func (m *Mirror) Delete(table, key string) {
	m.change(func() { m.put(m.db.redisKey(rows.Row{Table: table, Key: key}), "") })
}

// Empty takes all rows of a table away. Rows of other tables stay.
func (m *Mirror) Empty(table string) { m.Replace(table, func(func(rows.Row) bool) {}) }

// Replace gives a table exactly these rows. Rows of other tables stay. The fields are
// copied, each row before the next one comes; the sequence does not call the mirror.
func (m *Mirror) Replace(table string, all iter.Seq[rows.Row]) {
	m.change(func() {
		keep := make(map[string]bool, len(m.desired[table]))
		for r := range all {
			k := m.db.redisKey(r)
			keep[k] = true
			m.set(k, r.Fields)
		}
		for k := range m.desired[table] {
			if !keep[k] {
				m.put(k, "")
			}
		}
	})
}

// Clear takes all rows of all its tables away. Rows of other writers that Redis has
// of these tables go, too.
func (m *Mirror) Clear() {
	m.change(func() {
		for _, of := range m.desired {
			for k := range of {
				m.put(k, "")
			}
		}
		m.all = true
	})
}

// set records the fields of a row. Its caller holds mu. The same fields again take no memory.
func (m *Mirror) set(key string, fields map[string]string) {
	table, _, _ := m.db.split(key)
	packed := appendPacked(new(room)[:0], stored(fields))
	if string(packed) != string(m.desired[table][key]) {
		m.put(key, Packed(packed))
	}
}

// put records the fields of a row, "" for a removed one. Its caller holds mu.
func (m *Mirror) put(key string, fields Packed) {
	table, _, _ := m.db.split(key)
	of := m.desired[table]
	switch {
	case fields == "":
		delete(of, key)
	case of[key] == fields:
		return
	case of == nil:
		m.desired[table] = map[string]Packed{key: fields}
	default:
		of[key] = fields
	}
	m.touched[key] = true
}

// change changes the wanted rows under the lock and wakes Run.
func (m *Mirror) change(f func()) {
	m.mu.Lock()
	f()
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Run writes changes, soon after they happen, until ctx is done; then it returns nil.
// While Redis is down changes wait.
func (m *Mirror) Run(ctx context.Context) error {
	delay, failed, locked := m.db.timing.backoff, false, false
	full := time.NewTicker(m.db.timing.resync)
	defer full.Stop()
	look := time.NewTicker(m.db.timing.poll)
	defer look.Stop()
	for {
		err := m.Flush(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if !failed || isLocked(err) && !locked {
				locked = isLocked(err)
				m.db.log.Warn("rows cannot be written; trying until they can", "error", m.db.explain(err))
			}
			failed = true
			if !clock.Sleep(ctx, delay) {
				return nil
			}
			delay = min(2*delay, m.db.timing.longest)
			continue
		}
		delay, failed = m.db.timing.backoff, false
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
			if !m.db.timing.gather(ctx, m.wake) {
				return nil
			}
		case <-look.C:
			m.verify(ctx)
		case <-full.C:
			m.everything()
		}
	}
}

// Flush writes the differences at once, and returns when Redis has them. Call it after
// Set where a row must be in Redis before another step.
func (m *Mirror) Flush(ctx context.Context) error {
	m.writing.Lock()
	defer m.writing.Unlock()

	m.mu.Lock()
	all := m.all
	m.mu.Unlock()
	if all {
		if err := m.reread(ctx); err != nil {
			return err
		}
	}
	wanted := m.take(all)
	var orders []order
	for k, fields := range wanted {
		was := m.written[k]
		switch {
		case fields == "" && was != "":
			orders = append(orders, order{key: k, delete: true})
		case fields != was:
			o := orderOf(k, Change{Row: rows.Row{Fields: fields.Unpack()}}, slices.Collect(maps.Keys(was.Unpack())))
			o.delete = was == "" // the key has another type than a row
			orders = append(orders, o)
		}
	}
	slices.SortFunc(orders, func(a, b order) int { return strings.Compare(a.key, b.key) })
	if err := m.db.execute(ctx, orders); err != nil {
		m.everything() // the written part is unknown
		return err
	}
	for k, fields := range wanted {
		if fields == "" {
			delete(m.written, k)
		} else {
			m.written[k] = fields
		}
	}
	return nil
}

// reread reads what Redis holds. Rows come in batches: all at once would take as much memory
// again as the mirror has. Its caller holds writing.
func (m *Mirror) reread(ctx context.Context) error {
	keys, err := m.db.keys(ctx, m.tables)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(keys))
	err = m.db.readEach(ctx, m.db.client, keys, func(k string, fields map[string]string) {
		there[k] = true
		if now := pack(fields); m.written[k] != now {
			m.written[k] = now
		}
	})
	if err == nil {
		maps.DeleteFunc(m.written, func(k string, _ Packed) bool { return !there[k] })
	}
	return err
}

// take returns the wanted fields of the rows that may differ, "" for rows to remove, and
// marks them as being written.
func (m *Mirror) take(all bool) map[string]Packed {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := map[string]Packed{}
	if all {
		for k := range m.written {
			wanted[k] = ""
		}
		for _, of := range m.desired {
			maps.Copy(wanted, of)
		}
		m.all = false
	}
	for k := range m.touched {
		table, _, _ := m.db.split(k)
		wanted[k] = m.desired[table][k]
	}
	m.touched = map[string]bool{} // one that grew would keep its memory
	return wanted
}

// verify has everything written again if one row is missing in Redis, or Redis is
// unreachable. One is enough: a flush takes all of them, and the full comparison finds
// the rest.
func (m *Mirror) verify(ctx context.Context) {
	m.writing.Lock()
	defer m.writing.Unlock()
	for k := range m.written {
		if n, err := m.db.client.Exists(ctx, k).Result(); err != nil || n == 0 {
			m.everything()
		}
		return
	}
}

// everything has all rows compared with Redis again.
func (m *Mirror) everything() { m.change(func() { m.all = true }) }
