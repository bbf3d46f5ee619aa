// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/edit"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/clock"
	"sluice/yang/rows"
)

const (
	// retries is how often a Set is tried again when other clients write the same rows.
	retries = 10

	// settle is how long a Set whose connection broke during its transaction checks
	// whether Redis has written it.
	settle = 10 * time.Second

	// seen is how long a written Set waits until streams see it. They do within some 20 ms,
	// unless another client writes the row at once.
	seen = time.Second
)

// Set changes the configuration (specification section 3.4): all of it, or none with an
// error. It leaves a line in the log in both cases.
func (s *Server) Set(ctx context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	operations, changes, err := s.set(ctx, r)
	log := []any{"operations", names(operations), "rows", len(changes)}
	done, id := committed(r)
	if id != "" {
		log = append(log, "commit", id)
	}
	if err != nil {
		s.refused(ctx, err, append(log, "asked for", done)...)
		return nil, err
	}
	s.Stats.Sets.Add(1)
	s.Log.Info(done, append([]any{"user", user(ctx), "peer", peerOf(ctx)}, log...)...)
	out := &gpb.SetResponse{Prefix: r.GetPrefix(), Timestamp: time.Now().UnixNano()}
	for _, o := range operations {
		out.Response = append(out.Response, &gpb.UpdateResult{Path: o.Path, Op: o.Kind})
	}
	return out, nil
}

// refused counts and logs a Set that failed.
func (s *Server) refused(ctx context.Context, err error, more ...any) {
	s.Stats.Refused.Add(1)
	s.Log.Warn("set refused", append([]any{"user", user(ctx), "peer", peerOf(ctx), "code", status.Code(err).String(), "error", status.Convert(short(err)).Message()}, more...)...)
}

// committed returns the name of a Set for the log, and the id of its commit extension.
func committed(r *gpb.SetRequest) (what, id string) {
	for _, e := range r.GetExtension() {
		c := e.GetCommit()
		if c == nil {
			continue
		}
		switch id = paths.Short(c.GetId(), 64); c.GetAction().(type) {
		case *gnmi_ext.Commit_Commit:
			return "set, to be confirmed", id
		case *gnmi_ext.Commit_Confirm:
			return "commit confirmed", id
		case *gnmi_ext.Commit_Cancel:
			return "commit canceled", id
		case *gnmi_ext.Commit_SetRollbackDuration:
			return "commit extended", id
		}
	}
	return "set", id
}

// namedOperations is how many operations a line of the log names.
const namedOperations = 32

// names returns operations for the log.
func names(operations []edit.Operation) string {
	var all []string
	for i := range operations[:min(len(operations), namedOperations)] {
		all = append(all, operations[i].String())
	}
	if more := len(operations) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// set carries out a Set and returns its operations and the changed rows. An error has the
// gRPC status of the answer.
func (s *Server) set(ctx context.Context, r *gpb.SetRequest) ([]edit.Operation, []sonicdb.Change, error) {
	ext, err := extensions(r.GetExtension(), "commit")
	if err != nil {
		return nil, nil, err
	}
	access := s.Policy.For(user(ctx), auth.Write)
	operations, err := edit.Operations(r, func(q *paths.Query) error {
		if !access.AllowsSome(q) {
			return status.Errorf(codes.PermissionDenied, "%s may not write %s", user(ctx), q)
		}
		return status.FromContextError(ctx.Err()).Err()
	})
	if err != nil {
		return operations, nil, asStatus(err, codes.NotFound)
	}

	changes, err := s.apply(ctx, ext.commit, operations, access)
	if err == nil {
		// A stream that the client opens after the answer shows the new values.
		ctx, cancel := context.WithTimeout(ctx, seen)
		defer cancel()
		s.live.Await(ctx, changes)
	}
	return operations, changes, err
}

// apply is the part of a Set that only one has at a time.
func (s *Server) apply(ctx context.Context, e *gnmi_ext.Commit, operations []edit.Operation, access *auth.Access) ([]sonicdb.Change, error) {
	s.setting.Lock()
	defer s.setting.Unlock()
	if err := s.mayCommit(ctx, e, access); err != nil {
		return nil, err
	}
	begin, err := s.commit.before(ctx, e, len(operations) > 0)
	switch {
	case err != nil:
		return nil, err
	case len(operations) > 0:
		return s.change(ctx, operations, access, begin)
	case begin != nil:
		if err := begin(nil); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return nil, nil
}

// change carries out operations. If begin is not nil, it is called with the rows as they
// are before they are written; the commit that it begins is forgotten where the rows stay
// as they were.
func (s *Server) change(ctx context.Context, operations []edit.Operation, access *auth.Access, begin func([]savedRow) error) ([]sonicdb.Change, error) {
	for try := 0; ; try++ {
		changes, err := s.tryChange(ctx, operations, access, begin)
		switch {
		case err == nil:
			return changes, nil
		case errors.Is(err, sonicdb.ErrChanged) && try < retries && ctx.Err() == nil:
			continue
		case begin != nil && !errors.Is(err, sonicdb.ErrUnknown):
			if forgetErr := s.commit.forget(); forgetErr != nil {
				s.Log.Error("the record of a failed commit cannot be removed; no other Set is accepted until it ends", "error", forgetErr)
			}
		}
		return nil, writing(err)
	}
}

// tryChange is change, once.
func (s *Server) tryChange(ctx context.Context, operations []edit.Operation, access *auth.Access, begin func([]savedRow) error) ([]sonicdb.Change, error) {
	all, err := s.configuration(ctx)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	now := edit.NewConfig(all)
	next, err := now.Apply(operations)
	if err != nil {
		return nil, asStatus(err, codes.NotFound)
	}
	changes := now.Changes(next)
	if err := mayWrite(access, user(ctx), now, changes); err != nil {
		return nil, err
	}
	if err := now.Check(next); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	was := rowsBefore(now, changes)
	if begin != nil {
		if err := begin(saved(was, changes)); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	// The write goes on even if the client leaves: it must end in a known state.
	if err := s.write(context.WithoutCancel(ctx), was, changes); err != nil {
		return nil, err
	}
	return changes, nil
}

// writing returns the status of an error of a write.
func writing(err error) error {
	switch _, is := status.FromError(err); {
	case is:
		return err
	case errors.Is(err, sonicdb.ErrChanged):
		return status.Error(codes.Aborted, "other clients keep writing the same rows; nothing was written, try again")
	case errors.Is(err, sonicdb.ErrUnknown):
		return status.Error(codes.Unknown, err.Error())
	}
	return status.Error(codes.Unavailable, err.Error())
}

// configuration returns the rows of CONFIG_DB that matter.
func (s *Server) configuration(ctx context.Context) ([]rows.Row, error) {
	return s.Databases["CONFIG_DB"].Read(ctx, append(rows.Tables("CONFIG_DB"), edit.References...)...)
}

// rowsBefore returns the rows that changes replace or remove, as they are now.
func rowsBefore(now *edit.Config, changes []sonicdb.Change) []rows.Row {
	var was []rows.Row
	for _, c := range changes {
		if r, ok := now.Row(c.Row.Name()); ok {
			was = append(was, r)
		}
	}
	return was
}

// write writes all rows or none. If the connection breaks during the transaction, it
// checks whether they were written.
func (s *Server) write(ctx context.Context, was []rows.Row, changes []sonicdb.Change) error {
	db := s.Databases["CONFIG_DB"]
	err := db.Swap(ctx, was, changes...)
	if !errors.Is(err, sonicdb.ErrUnknown) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for {
		all, readErr := s.configuration(ctx)
		if readErr == nil {
			if written(all, changes) {
				return nil
			}
			return errors.New("the connection to Redis broke, and nothing was written")
		}
		if !clock.Sleep(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// written reports whether rows equal those of changes.
func written(all []rows.Row, changes []sonicdb.Change) bool {
	now := edit.NewConfig(all)
	var is []rows.Row
	for _, c := range changes {
		if !c.Deleted {
			is = append(is, c.Row)
		}
	}
	for _, c := range now.Changes(edit.NewConfig(is)) {
		for _, wanted := range changes {
			if c.Row.Name() == wanted.Row.Name() {
				return false
			}
		}
	}
	return true
}
