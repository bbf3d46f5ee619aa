// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/host/etcd"
	"sluice/orchagent-ext/spread/plan"
)

// Board is where leaves show each other their rows: [etcd.Board].
type Board interface {
	Run(ctx context.Context) error
	Put(row []byte)
	Publish(number uint64, about string, parts map[string][]byte)
	View() etcd.View
}

// Share shares the row of this leaf, makes plans where this leaf is elected, and keeps
// the rows of others and the plan in force. It is safe for concurrent use.
type Share struct {
	board   Board
	log     *slog.Logger
	planner *plan.Planner // nil: another leaf is elected; of the goroutine that turns

	mu    sync.Mutex
	read  uint64 // number of the view whose rows were read
	rows  []plan.Row
	part  []byte // that was read
	state ShareState
}

// A ShareState is the knowledge of the fabric.
type ShareState struct {
	Fabric
	Planner string // elected leaf, or ""
	Plan    uint64 // in force for the fabric, or 0
	Why     string // reason against another plan, as far as this leaf plans
	Leaves  int    // whose rows are used
	Aside   []plan.Aside
}

// shareEvery is the interval between readings of the others' rows.
const shareEvery = time.Second

// NewShare shares by a board.
func NewShare(b Board, log *slog.Logger) *Share {
	return &Share{board: b, log: log, state: ShareState{Fabric: Fabric{Err: etcd.ErrNotShared}}}
}

// Run shares until ctx ends.
func (s *Share) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.board.Run(ctx) })
	group.Go(func() error {
		began, tick := time.Now(), time.NewTicker(shareEvery)
		defer tick.Stop()
		for {
			s.turn(int64(time.Since(began)))
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
	return group.Wait()
}

// Tell publishes the row of this leaf.
func (s *Share) Tell(row *plan.Row) error {
	text, err := json.Marshal(row)
	if err == nil {
		s.board.Put(text)
	}
	return err
}

// State returns the present knowledge of the fabric.
func (s *Share) State() ShareState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// turn looks at the board, and plans where this leaf is to. now is of a monotonic clock, in
// nanoseconds.
func (s *Share) turn(now int64) {
	v := s.board.View()
	if v.Err != nil {
		s.planner = nil
		s.mu.Lock()
		s.state = ShareState{Fabric: Fabric{Err: v.Err, Number: s.state.Number, Directory: s.state.Directory}}
		s.mu.Unlock()
		return
	}
	s.readRows(&v)
	if !v.Leads {
		s.planner = nil
		return
	}
	if s.planner == nil {
		s.planner = &plan.Planner{}
	}
	made, why := s.planner.Look(now, s.rows, v.Published, v.About)
	if made != nil {
		s.publish(made, v.Published+1, why)
	}
	s.mu.Lock()
	s.state.Why = why
	s.mu.Unlock()
}

// readRows parses the rows of the view.
func (s *Share) readRows(v *etcd.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := &s.state
	if is.Err != nil || v.Number != s.read {
		var aside []plan.Aside
		s.rows, aside = plan.Read(v.Rows)
		for _, node := range slices.Sorted(maps.Keys(v.Aside)) {
			aside = append(aside, plan.Aside{Key: node, Reason: v.Aside[node]})
		}
		s.logAside(aside)
		s.read, is.Leaves, is.Aside = v.Number, len(s.rows), aside
		is.Number, is.Directory = is.Number+1, plan.NewDirectory(s.rows)
	}
	if is.Err != nil || v.Published != is.Plan || !bytes.Equal(v.Part, s.part) {
		is.Quotas, s.part = s.quotas(v), v.Part
	}
	is.Err, is.Planner, is.Plan = nil, v.Leader, v.Published
}

// quotas returns those of this leaf; nil if they are missing or invalid.
func (s *Share) quotas(v *etcd.View) *plan.Quotas {
	if v.Part == nil {
		return nil
	}
	q, err := plan.ParseQuotas(v.Part)
	if err == nil && q.Plan != v.Published {
		err = fmt.Errorf("they are of plan %d", q.Plan)
	}
	if err != nil {
		s.log.Warn("quotas of a plan cannot be used; labels stay", "plan", v.Published, "error", err)
		return nil
	}
	return &q
}

// logAside logs each row that is set aside, once.
func (s *Share) logAside(aside []plan.Aside) {
	said := map[string]string{}
	for _, a := range s.state.Aside {
		said[a.Key] = a.Reason.Error()
	}
	for _, a := range aside {
		if said[a.Key] != a.Reason.Error() {
			s.log.Warn("the row of another leaf cannot be used", "leaf", a.Key, "error", a.Reason)
		}
	}
}

// publish hands each leaf its quotas.
func (s *Share) publish(made *plan.Plan, number uint64, why string) {
	parts := make(map[string][]byte, len(made.Leaves))
	var err error
	for leaf, quotas := range made.Leaves {
		var text []byte
		if text, err = json.Marshal(quotas); err != nil || len(text) > plan.MaxRowOctets {
			err = errors.Join(err, fmt.Errorf("quotas of %s have %d octets: at most %d are possible", leaf, len(text), plan.MaxRowOctets))
			break
		}
		parts[leaf] = text
	}
	if err != nil {
		s.log.Warn("a plan cannot be written", "plan", number, "error", err)
		return
	}
	s.log.Info("another plan for the fabric", "plan", number, "leaves", len(parts), "flows", made.Flows, "worst_over_mean", made.Uneven, "why", why)
	s.board.Publish(number, plan.Shape(s.rows), parts)
}
