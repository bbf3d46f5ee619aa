// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/files"
)

const (
	// rollbackDefault is how long a commit without a duration waits (commit confirmed
	// extension, section 3.2.1).
	rollbackDefault = 10 * time.Minute

	// again is how long after a failure a rollback is tried again.
	again = time.Second

	// longestID is how long an id may be, octets: the details of an error have it, and clients refuse
	// long trailers.
	longestID = 256
)

// commit is the commit that waits to be confirmed, if there is one. Its methods
// but run and load are called with Server.setting held.
type commit struct {
	server *Server
	record *record
	wake   chan struct{} // the deadline is another
}

// newCommit returns a server's commit, of which there is one at a time.
func newCommit(s *Server) *commit { return &commit{server: s, wake: make(chan struct{}, 1)} }

// load loads the commit that an earlier process has left.
func (c *commit) load() {
	c.server.setting.Lock()
	defer c.server.setting.Unlock()
	if c.server.StateFile == "" {
		return
	}
	files.RemoveLeftovers(c.server.StateFile)
	c.record = loadRecord(c.server.StateFile, func(err error) {
		c.server.Log.Warn("a commit that waits to be confirmed would not be taken back", "error", err)
	})
	if c.record != nil {
		c.server.Log.Warn("a commit waits to be confirmed", "id", c.record.ID, "until", c.record.Deadline)
	}
}

// before applies the extension to a Set. It returns an error, or a function to call
// with the rows before they are written, or nil.
func (c *commit) before(ctx context.Context, e *gnmi_ext.Commit, changes bool) (func([]savedRow) error, error) {
	if e == nil {
		if c.record != nil {
			return nil, c.waiting()
		}
		return nil, nil
	}
	switch {
	case c.server.StateFile == "":
		return nil, status.Error(codes.Unimplemented, "commits to be confirmed need a state file; the server was started without")
	case e.GetId() == "":
		return nil, status.Error(codes.InvalidArgument, "the commit has no id")
	case len(e.GetId()) > longestID:
		return nil, status.Errorf(codes.InvalidArgument, "the id of the commit has %d octets, more than %d", len(e.GetId()), longestID)
	}
	if request, ok := e.GetAction().(*gnmi_ext.Commit_Commit); ok {
		return c.begin(e.GetId(), request.Commit.GetRollbackDuration())
	}
	if e.GetAction() == nil {
		return nil, status.Error(codes.InvalidArgument, "the commit has no action")
	}
	if changes {
		return nil, status.Error(codes.InvalidArgument, "only the action commit goes with operations")
	}
	switch {
	case c.record == nil:
		return nil, status.Error(codes.FailedPrecondition, "no commit waits to be confirmed")
	case c.record.ID != e.GetId():
		return nil, status.Errorf(codes.InvalidArgument, "the commit that waits to be confirmed is not %q", e.GetId())
	}
	switch action := e.GetAction().(type) {
	case *gnmi_ext.Commit_Confirm:
		return nil, c.forget()
	case *gnmi_ext.Commit_Cancel:
		if err := c.takeBack(ctx); err != nil {
			return nil, status.Errorf(codes.Unavailable, "the commit still waits to be confirmed: %v", err)
		}
		return nil, nil
	case *gnmi_ext.Commit_SetRollbackDuration:
		return nil, c.extend(action.SetRollbackDuration.GetRollbackDuration())
	}
	return nil, status.Errorf(codes.Unimplemented, "the action %T of a commit is not supported", e.GetAction())
}

// waiting returns the error of a Set while a commit waits. Its details have the id of the commit, by
// which a client can cancel it.
func (c *commit) waiting() error {
	s := status.Newf(codes.FailedPrecondition, "commit %q waits to be confirmed; confirm or cancel it first", c.record.ID)
	if detailed, err := s.WithDetails(&gnmi_ext.Commit{Id: c.record.ID}); err == nil {
		s = detailed
	}
	return s.Err()
}

// begin returns the function that begins a commit.
func (c *commit) begin(id string, d *durationpb.Duration) (func([]savedRow) error, error) {
	if c.record != nil {
		return nil, c.waiting()
	}
	wait := rollbackDefault
	if d != nil {
		if wait = d.AsDuration(); wait <= 0 {
			return nil, status.Errorf(codes.InvalidArgument, "rollback_duration %v must be greater than 0", wait)
		}
	}
	return func(before []savedRow) error {
		return c.put(&record{ID: id, Deadline: time.Now().Add(wait), Rows: before})
	}, nil
}

// extend gives the commit another deadline, counted from now, and saves it.
func (c *commit) extend(d *durationpb.Duration) error {
	if d.AsDuration() <= 0 {
		return status.Error(codes.InvalidArgument, "rollback_duration must be there and greater than 0")
	}
	next := *c.record
	next.Deadline = time.Now().Add(d.AsDuration())
	if err := c.put(&next); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// put replaces the current record.
func (c *commit) put(r *record) error {
	if err := r.save(c.server.StateFile); err != nil {
		return err
	}
	c.record = r
	c.changed()
	return nil
}

// forget ends the commit; the rows that it wrote stay.
func (c *commit) forget() error {
	if err := removeRecord(c.server.StateFile); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	c.record = nil
	c.changed()
	return nil
}

// changed wakes the task that waits for the deadline.
func (c *commit) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// takeBack restores the rows that were there before the commit.
func (c *commit) takeBack(ctx context.Context) error {
	for {
		all, err := c.server.configuration(ctx)
		if err != nil {
			return err
		}
		was, changes := c.record.undo(all)
		if err := c.server.write(ctx, was, changes); errors.Is(err, sonicdb.ErrChanged) {
			continue
		} else if err != nil {
			return fmt.Errorf("take back commit %q: %w", c.record.ID, err)
		}
		c.server.Log.Warn("commit taken back", "id", c.record.ID, "rows", len(changes))
		if err := c.forget(); err != nil { // the rows are restored, whatever the disk is like
			c.server.Log.Warn("the record of the commit cannot be removed: sluice-gnmi takes the commit back once more when it starts again", "error", err)
			c.record = nil
			c.changed()
		}
		return nil
	}
}

// run takes back the commit when its time is over, until ctx is done.
func (c *commit) run(ctx context.Context) {
	for {
		wait := c.expire(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// expire takes back the commit if its time is over. It returns when to check again.
func (c *commit) expire(ctx context.Context) time.Duration {
	c.server.setting.Lock()
	defer c.server.setting.Unlock()
	if c.record == nil {
		return time.Hour
	}
	if left := time.Until(c.record.Deadline); left > 0 {
		return left
	}
	if err := c.takeBack(ctx); err != nil {
		c.server.Log.Error("a commit was not confirmed and cannot be taken back; trying again", "error", err)
		return again
	}
	return time.Hour
}
