// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

const (
	// pathsAtOnce is how many paths a Get or a Subscribe may name.
	pathsAtOnce = 4096

	// leavesAtOnce is how many leaves the answer to a Get has at most: it is held
	// in memory as a whole, some 1 KiB a leaf.
	leavesAtOnce = 1 << 18
)

// Get returns the leaves that paths name, as the databases have them now (specification
// section 3.3), a Notification a path.
func (s *Server) Get(ctx context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	if !encoding.IsSupported(r.GetEncoding()) {
		return nil, status.Errorf(codes.Unimplemented, "encoding %v is not supported; there are: %v", r.GetEncoding(), encoding.Supported)
	}
	ext, err := extensions(r.GetExtension(), "depth")
	if err != nil {
		return nil, err
	}
	ofModels, err := models(r.GetUseModels())
	if err != nil {
		return nil, err
	}
	ofType, err := tablesOf(r.GetType())
	if err != nil {
		return nil, err
	}
	asked := r.GetPath()
	if len(asked) == 0 {
		asked = []*gpb.Path{{}} // the prefix alone
	}
	if len(asked) > pathsAtOnce {
		return nil, status.Errorf(codes.ResourceExhausted, "%d paths are asked for; %d are allowed", len(asked), pathsAtOnce)
	}
	access := s.Policy.For(user(ctx), auth.Read)
	queries := make([]*paths.Query, len(asked))
	for i, p := range asked {
		q, err := paths.Resolve(r.GetPrefix(), p)
		if err != nil {
			return nil, reading(err)
		}
		if !access.AllowsSome(q) {
			return nil, status.Errorf(codes.PermissionDenied, "%s may not read %s", user(ctx), q)
		}
		q.Within(ofModels)
		q.Within(ofType)
		queries[i] = q
	}
	// what has changed since may be in the answer, and what had changed before is
	at := time.Now().UnixNano()
	snapshot, err := s.reader.Read(ctx, queries...)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	pay := s.pay(ctx)
	if err := pay(snapshot.Fields()); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	leaves := make([][]encoding.Leaf, len(queries))
	total := 0
	for i, q := range queries {
		if q.Shallow(ext.depth) {
			leaves[i] = slices.DeleteFunc(snapshot.Leaves(q), func(l encoding.Leaf) bool { return !access.Allows(l.Table, l.Key, l.Name) })
		}
		if len(leaves[i]) == 0 {
			return nil, status.Errorf(codes.NotFound, "nothing is at %s", q)
		}
		if err := pay(len(leaves[i])); err != nil {
			return nil, status.FromContextError(err).Err()
		}
		if total += len(leaves[i]); total > leavesAtOnce {
			return nil, status.Errorf(codes.ResourceExhausted, "the answer would have more than %d leaves; ask for less, or Subscribe with mode ONCE", leavesAtOnce)
		}
	}
	out := &gpb.GetResponse{}
	for i, q := range queries {
		out.Notification = append(out.Notification, &gpb.Notification{
			Timestamp: at, Prefix: prefix(r.GetPrefix().GetTarget(), q.Origin), Update: updates(q, r.GetEncoding(), leaves[i]),
		})
	}
	return out, nil
}

// tablesOf returns which tables have data of a type. All read-only leaves describe the
// daemon's work, so STATE and OPERATIONAL are the same.
func tablesOf(t gpb.GetRequest_DataType) (func(*paths.Table) bool, error) {
	switch t {
	case gpb.GetRequest_ALL:
		return func(*paths.Table) bool { return true }, nil
	case gpb.GetRequest_CONFIG:
		return func(t *paths.Table) bool { return t.Config }, nil
	case gpb.GetRequest_STATE, gpb.GetRequest_OPERATIONAL:
		return func(t *paths.Table) bool { return !t.Config }, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "type %v must be ALL, CONFIG, STATE or OPERATIONAL", t)
}

// prefix returns the prefix of an answer (specification section 2.2.2.1), nil for an
// empty one.
func prefix(target, origin string) *gpb.Path {
	if target == "" && origin == "" {
		return nil
	}
	return &gpb.Path{Target: target, Origin: origin}
}

// updates returns leaves in JSON as one value a node that the query names, in
// other encodings one by one.
func updates(q *paths.Query, e gpb.Encoding, leaves []encoding.Leaf) []*gpb.Update {
	var all []*gpb.Update
	if q.Level == paths.AtLeaf || e == gpb.Encoding_PROTO || e == gpb.Encoding_ASCII {
		for _, l := range leaves {
			all = append(all, &gpb.Update{Path: paths.Path(q.Style, paths.AtLeaf, l.Table, l.Key, l.Name), Val: l.Value(q.Style, e)})
		}
		return all
	}
	for len(leaves) > 0 {
		first := leaves[0]
		n := slices.IndexFunc(leaves, func(l encoding.Leaf) bool { return !sameNode(q, first, l) })
		if n < 0 {
			n = len(leaves)
		}
		all = append(all, &gpb.Update{
			Path: paths.Path(q.Style, q.Level, first.Table, first.Key, first.Name),
			Val:  encoding.Subtree(q.Style, e, q.Level, leaves[:n]),
		})
		leaves = leaves[n:]
	}
	return all
}

// sameNode reports whether two leaves are below the same node at the query's level. It
// compares names, since other tables may be between those of one module or database.
func sameNode(q *paths.Query, a, b encoding.Leaf) bool {
	switch q.Level {
	case paths.Root:
		return true
	case paths.AtTop:
		return q.Style == paths.YANG && a.Table.Module == b.Table.Module || q.Style == paths.SonicDB && a.Table.Database == b.Table.Database
	case paths.AtTable:
		return a.Table == b.Table
	}
	return a.Table == b.Table && a.Key == b.Key
}
