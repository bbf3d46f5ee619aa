// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/edit"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
)

// everything is the query of all leaves.
var everything = func() *paths.Query {
	q, err := paths.Resolve(nil, &gpb.Path{})
	if err != nil {
		panic(err) // there is always a root
	}
	return q
}()

// mayWrite checks that a user may change each leaf that changes. A user who may set
// one leaf of a row may create it; to delete it takes permission for all of them.
func mayWrite(access *auth.Access, user string, now *edit.Config, changes []sonicdb.Change) error {
	for _, c := range changes {
		t := paths.Lookup(c.Row.Table)
		was, _ := now.Row(c.Row.Name())
		var leaves []string
		for _, leaf := range t.Leaves {
			a, had := was.Fields[t.Column(leaf)]
			b, has := c.Row.Fields[t.Column(leaf)]
			if had != has || a != b || t.IsKey(leaf) && (c.Deleted || len(c.Row.Fields) == 0) {
				leaves = append(leaves, leaf)
			}
		}
		for _, leaf := range leaves {
			if !access.Allows(t, c.Row.Key, leaf) {
				return status.Errorf(codes.PermissionDenied, "%s may not write %s of %s", user, leaf, c.Row.Name())
			}
		}
	}
	return nil
}

// mayCommit checks that a user has the permissions for a commit extension. A commit, even
// an empty one, blocks other writers, so its user must be allowed to write something; to
// confirm, cancel or extend the user needs permission for every row that it wrote.
func (s *Server) mayCommit(ctx context.Context, e *gnmi_ext.Commit, access *auth.Access) error {
	if e == nil || access == nil {
		return nil
	}
	if !access.AllowsSome(everything) {
		return status.Errorf(codes.PermissionDenied, "%s may not write anything", user(ctx))
	}
	if _, begins := e.GetAction().(*gnmi_ext.Commit_Commit); begins || s.commit.record == nil {
		return nil
	}
	all, err := s.configuration(ctx)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	_, changes := s.commit.record.undo(all)
	return mayWrite(access, user(ctx), edit.NewConfig(all), changes)
}
