// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/orchagent-ext/host/clock"
)

// Times of a board.
const (
	boardLease   = 10 * time.Second
	boardEvery   = time.Second
	boardAttempt = 2 * time.Second // for one request
	boardPause   = 500 * time.Millisecond

	mostFormer = 8 // leases that are remembered: as many as can live at the same time
)

// ErrNotShared means that this node is apart from the others: it neither reads their rows
// nor shows its own.
var ErrNotShared = errors.New("no lease in etcd")

// BoardConfig of a [Board].
type BoardConfig struct {
	Config
	Name string // of the board, below the domain
	Node string // of this node, unique in the domain

	MostRows   int // of others that are read
	MostOctets int // of one row
	MostTotal  int // octets of all rows

	Log *slog.Logger
}

// A Board has the rows that the nodes of a domain show each other. It is safe for
// concurrent use. Its requests begin with [Board.Run].
type Board struct {
	config  BoardConfig
	lease   time.Duration // a node that is silent for so long is gone; whole seconds
	every   time.Duration // between two looks
	attempt time.Duration // for one request
	wake    chan struct{}
	said    time.Time // time of the last log line about a missing share; Run's alone
	// of this board, that may not have ended yet: their keys are its own; Run's alone
	former []clientv3.LeaseID

	mu      sync.Mutex
	row     []byte
	pending *publication
	view    View
}

// A View has the rows that a node read last. Its maps are constant.
type View struct {
	// why nothing is shared; nil: it is. Without that, the rest is empty
	Err    error
	Number uint64            // of different rows that were read
	Rows   map[string][]byte // by node, this one's too
	Aside  map[string]error  // unread rows, with the reason
	Leader string            // the elected node, or ""
	Leads  bool              // it is this one

	Published uint64 // number of the published value in force, or 0
	About     string // value of the leader beside it
	Part      []byte // this node's part of it, or nil
}

// publication has the parts that the leader is to write.
type publication struct {
	number uint64
	about  string
	parts  map[string][]byte
}

// NewBoard checks the configuration. Files are read, and etcd is dialed, by [Board.Run].
// The error names the setting that is wrong and the values that are allowed.
func NewBoard(c BoardConfig) (*Board, error) {
	c.Complete()
	if c.Node == "" || len(c.Node) > 255 || strings.Contains(c.Node, "/") {
		return nil, fmt.Errorf("name of this node %q: 1 to 255 octets without '/' are allowed", c.Node)
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Board{config: c, lease: boardLease, every: boardEvery, attempt: boardAttempt, wake: make(chan struct{}, 1), view: View{Err: ErrNotShared}}, nil
}

// Put sets the row of this node, which is written soon. The slice is the board's from
// then on. Others set a row aside that has more than BoardConfig.MostOctets.
func (b *Board) Put(row []byte) {
	b.mu.Lock()
	b.row = row
	b.mu.Unlock()
}

// Publish has parts written, by node, and put in force together. The elected node alone
// succeeds. number must be greater than the last published one.
func (b *Board) Publish(number uint64, about string, parts map[string][]byte) {
	b.mu.Lock()
	b.pending = &publication{number, about, parts}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// View returns the rows as last read. It returns at once; before the first reading Err is
// [ErrNotShared].
func (b *Board) View() View {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view
}

// Run shares until ctx ends. Then the row is gone, and another node is elected. It is
// called once.
func (b *Board) Run(ctx context.Context) error {
	var why Cause
	for ctx.Err() == nil {
		err := b.config.Connect(ctx, &why, func(ctx context.Context, client *clientv3.Client) error {
			for {
				err := b.session(ctx, client)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				b.lost(why.Add(err))
				clock.Sleep(ctx, boardPause)
			}
		})
		b.lost(err)
		if ctx.Err() == nil {
			clock.Sleep(ctx, boardPause)
		}
	}
	return nil
}

// lost keeps the reason why the node is apart from the others, and logs it at intervals.
func (b *Board) lost(err error) {
	b.mu.Lock()
	had := b.view.Err == nil
	b.view = View{Err: fmt.Errorf("%w (%w)", ErrNotShared, err), Number: b.view.Number + 1}
	b.pending = nil
	b.mu.Unlock()
	level := slog.LevelDebug
	if had || time.Since(b.said) > time.Minute {
		level, b.said = slog.LevelWarn, time.Now()
	}
	b.config.Log.Log(context.Background(), level, "board in etcd: "+ErrNotShared.Error(), "board", b.config.Name, "reason", err)
}

// boardSession is the time of one lease.
type boardSession struct {
	*Board
	client *clientv3.Client
	keys   boardKeys
	id     clientv3.LeaseID

	good    time.Time // when the last turn that succeeded began
	renewAt time.Time
	written []byte // the row, as etcd has it, or nil
	leads   int64  // revision of the leader's key, if it is this node's; else 0
	rows    map[string]boardRow
	view    View
}

// boardRow is a row of a node, as it was read.
type boardRow struct {
	revision int64
	value    []byte
	aside    error
}

// session takes a lease and shares under it until it is lost or ctx ends.
func (b *Board) session(ctx context.Context, client *clientv3.Client) error {
	began := time.Now()
	asking, cancel := context.WithTimeout(ctx, b.attempt)
	lease, err := client.Grant(asking, int64(b.lease/time.Second))
	cancel()
	if err != nil {
		return fmt.Errorf("ask etcd for a lease: %w", err)
	}
	s := &boardSession{
		Board: b, client: client, keys: boardKeys(b.config.Prefix() + b.config.Name + "/"), id: lease.ID,
		good: began, renewAt: began.Add(b.lease / 4), rows: map[string]boardRow{},
	}
	defer func() {
		giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.attempt)
		defer cancel()
		if _, err := client.Revoke(giving, lease.ID); err != nil && !errors.Is(leaseError(err), errLeaseGone) {
			// it ends by itself
			b.former = append(b.former[max(0, len(b.former)+1-mostFormer):], lease.ID)
		}
	}()
	for ctx.Err() == nil {
		began := time.Now()
		err := s.turn(ctx)
		switch {
		case err == nil:
			s.good = began
			b.seen(s)
		case errors.Is(err, errLeaseGone) || time.Since(s.good) >= b.lease:
			return err
		default:
			b.failed(err)
		}
		s.wait(ctx)
	}
	return ctx.Err()
}

// seen makes the rows of a session the view.
func (b *Board) seen(s *boardSession) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.view.Number = b.view.Number
	if s.changed(&b.view) {
		s.view.Number++
	}
	b.view = s.view
}

// failed keeps the error of a reading until the first success.
func (b *Board) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.view.Err != nil {
		b.view.Err = fmt.Errorf("%w (%w)", ErrNotShared, err)
	}
}

// changed reports whether other rows were read than the view has.
func (s *boardSession) changed(was *View) bool {
	if was.Err != nil || len(was.Rows) != len(s.view.Rows) || len(was.Aside) != len(s.view.Aside) {
		return true
	}
	for node, row := range s.view.Rows {
		if before, there := was.Rows[node]; !there || !bytes.Equal(before, row) {
			return true
		}
	}
	return false
}

// wait waits for the next turn: its interval, a change of this node's row, or the end of
// ctx.
func (s *boardSession) wait(ctx context.Context) {
	t := time.NewTimer(s.every)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.wake:
	case <-ctx.Done():
	}
}

// turn does all that is due once.
func (s *boardSession) turn(ctx context.Context) error {
	if !time.Now().Before(s.renewAt) {
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	s.view = View{}
	for _, step := range []func(context.Context) error{s.show, s.elect, s.read, s.published} {
		asking, cancel := context.WithTimeout(ctx, s.attempt)
		err := step(asking)
		cancel()
		if err != nil {
			return leaseError(err)
		}
	}
	return leaseError(s.publish(ctx))
}
