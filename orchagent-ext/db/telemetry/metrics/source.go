// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"slices"
	"sync"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

const (
	// fresh is how long rows that were read are used in place of Redis: sluiced writes
	// them once a second.
	fresh = time.Second

	// readTimeout is for all rows together. Prometheus gives up after 10 s.
	readTimeout = 3 * time.Second
)

// source reads the rows of all exported tables, at most once in fresh, however
// many ask.
type source struct {
	state, counters *sonicdb.DB
	only            []rows.Row // of STATE_DB
	flows           bool       // read those of STATE_DB, too
	now             func() time.Time

	mu   sync.Mutex // held while rows are read: who comes then waits for them
	at   time.Time
	rows []rows.Row
	err  error
}

// newSource opens the databases, which may start later.
func newSource(d *sonicdb.Databases, all map[string]*table) (*source, error) {
	s := &source{now: time.Now}
	for _, t := range all {
		if t.only != "" && t.database == "STATE_DB" {
			s.only = append(s.only, rows.Row{Table: t.name, Key: t.only})
		}
	}
	s.flows = all[telemetry.TableFlow] != nil
	var err error
	if s.state, err = sonicdb.Open(d, "STATE_DB", nil); err != nil {
		return nil, err
	}
	if s.counters, err = sonicdb.Open(d, "COUNTERS_DB", nil); err != nil {
		_ = s.state.Close() // the other error has more
		return nil, err
	}
	return s, nil
}

// read returns rows that are at most fresh old, or the error of reading.
func (s *source) read(ctx context.Context) ([]rows.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.at.IsZero() || now.Sub(s.at) >= fresh {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		s.rows, s.err = s.all(ctx)
		s.at = s.now()
	}
	return s.rows, s.err
}

// all reads. Keys are looked for in COUNTERS_DB alone, unless flows are wanted, or labels
// are chosen: STATE_DB's other rows are known by name.
func (s *source) all(ctx context.Context) ([]rows.Row, error) {
	state, err := s.state.Get(ctx, s.only...)
	if err != nil {
		return nil, err
	}
	counters, err := s.counters.Read(ctx, rows.Tables("COUNTERS_DB")...)
	var tables []string
	if s.flows {
		tables = append(tables, telemetry.TableFlow)
	}
	if slices.ContainsFunc(state, func(r rows.Row) bool {
		return r.Table == telemetry.TableState && r.Fields["placement"] == telemetry.Active
	}) {
		tables = append(tables, lists...)
	}
	if err != nil || tables == nil {
		return slices.Concat(state, counters), err
	}
	many, err := s.state.Read(ctx, tables...)
	return slices.Concat(state, counters, many), err
}

// close closes the databases.
func (s *source) close() {
	_ = s.state.Close() // only reads went over them
	_ = s.counters.Close()
}
