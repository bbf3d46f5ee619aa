// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/sessions"
)

// recheck is how often it is checked whether the user of an open stream may still
// have it.
const recheck = time.Second

// userKey is the key of the user in an RPC's context.
type userKey struct{}

// user returns who sent the RPC.
func user(ctx context.Context) string {
	name, _ := ctx.Value(userKey{}).(string)
	return name
}

// open are the services for clients that have not logged in.
var open = map[string]bool{
	"/grpc.health.v1.Health/Check": true,
	"/grpc.health.v1.Health/Watch": true,
	"/grpc.health.v1.Health/List":  true,
}

// Tap accepts an RPC, with its user in the context, or refuses it, as soon as its
// headers have arrived: before any message, or anything else of the connection, is
// read.
func (s *Server) Tap(ctx context.Context, rpc *tap.Info) (context.Context, error) {
	conn := sessions.Of(ctx)
	if _, password, err := auth.Login(ctx); open[rpc.FullMethodName] && password == "" && err == nil {
		if _, err := s.Who.Identify(ctx); err != nil || conn.Admit() != nil {
			conn.Ask()
		}
		return ctx, nil
	}
	name, err := s.Who.Identify(ctx)
	if err != nil {
		conn.Ask()
		s.Log.Warn("client refused", "method", rpc.FullMethodName, "peer", peerOf(ctx), "error", err)
		s.Stats.Unknown.Add(1)
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	if err := conn.Admit(); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return context.WithValue(ctx, userKey{}, name), nil
}

// Unary carries out an RPC.
func (s *Server) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if user(ctx) == "" && !open[info.FullMethod] {
		return nil, errNoUser
	}
	answer, err := next(ctx, req)
	return answer, short(err)
}

// Stream carries out a streaming RPC, and ends it when its user loses the permission, or
// may see other leaves.
func (s *Server) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if open[info.FullMethod] {
		return next(srv, stream)
	}
	ctx := stream.Context()
	if user(ctx) == "" {
		return errNoUser
	}
	access := s.Policy.For(user(ctx), auth.Read)
	ended := make(chan error, 1)
	go func() { ended <- next(srv, judged{stream}) }()
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return short(err)
		case <-tick.C:
			if err := s.still(ctx, access); err != nil {
				s.Stats.Revoked.Add(1)
				s.Log.Warn("stream ended", "user", user(ctx), "peer", peerOf(ctx), "reason", status.Convert(err).Message())
				return short(err)
			}
		}
	}
}

// errNoUser is for an RPC that bypassed Tap.
var errNoUser = status.Error(codes.Unauthenticated, "the RPC has no user")

// still returns the error that ends a stream, or nil. Access has its user's permissions
// at its begin.
func (s *Server) still(ctx context.Context, access *auth.Access) error {
	if err := s.Who.Still(ctx); err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	now := s.Policy.For(user(ctx), auth.Read)
	switch {
	case now.Equal(access):
		return nil
	case !now.AllowsSome(everything):
		return status.Errorf(codes.PermissionDenied, "%s may not read anything any more", user(ctx))
	}
	return status.Errorf(codes.Aborted, "the policy for %s has changed; subscribe again", user(ctx))
}
