// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
	"sluice/orchagent-ext/sonicdb"
)

// Config is what a Server is made of.
type Config struct {
	Databases map[string]*sonicdb.DB // those of paths.Databases, by name
	Policy    *auth.Policy           // nil: everybody may everything
	Identify  func(ctx context.Context) (user string, err error)
	StateFile string       // what an unconfirmed commit takes back; empty: no commits
	Log       *slog.Logger // nil: silence

	QueueLimit int           // leaves that may wait for a stream; 0: 65536
	Stall      time.Duration // for which a stream may take nothing; 0: 30 s
	Streams    int           // Subscribe RPCs at once; 0: 256
}

// Server answers RPCs. Run must run for STREAM and for commits.
type Server struct {
	gpb.UnimplementedGNMIServer
	Config
	Stats Stats

	reader *tree.Reader
	live   *tree.Live

	setting  sync.Mutex // one Set at a time
	commit   *commit
	stopping chan struct{} // closed when Run ends
}

// New returns a server.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.QueueLimit == 0 {
		c.QueueLimit = 1 << 16
	}
	if c.Stall == 0 {
		c.Stall = 30 * time.Second
	}
	if c.Streams == 0 {
		c.Streams = 256
	}
	s := &Server{Config: c, reader: tree.NewReader(c.Databases), live: tree.NewLive(), stopping: make(chan struct{})}
	s.commit = newCommit(s)
	return s
}

// Run follows the databases, shows its counters there and takes back commits that
// nobody confirms, until ctx is done; then streams end. It is called once. The error is that of a state
// file that cannot be read.
func (s *Server) Run(ctx context.Context) error {
	defer close(s.stopping)
	if err := s.commit.load(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.live.Run(ctx, s.Databases) })
	group.Go(func() error { return s.publish(ctx) })
	group.Go(func() error { s.commit.run(ctx); return nil })
	return group.Wait()
}

// Ready is closed once the databases have been read.
func (s *Server) Ready() <-chan struct{} { return s.live.Ready() }

// Ping says whether the databases answer.
func (s *Server) Ping(ctx context.Context) error {
	for _, name := range paths.Databases {
		if err := s.Databases[name].Ping(ctx); err != nil {
			return err
		}
	}
	return nil
}

type userKey struct{}

// user returns who sent the RPC.
func user(ctx context.Context) string {
	name, _ := ctx.Value(userKey{}).(string)
	return name
}

// open are services that everybody who can connect may ask.
var open = map[string]bool{
	"/grpc.health.v1.Health/Check": true,
	"/grpc.health.v1.Health/Watch": true,
	"/grpc.health.v1.Health/List":  true,
}

// Authenticate names the user of an RPC in its context, or refuses it.
func (s *Server) authenticate(ctx context.Context, method string) (context.Context, error) {
	if open[method] {
		return ctx, nil
	}
	name, err := s.Identify(ctx)
	if err != nil {
		s.Log.Warn("client refused", "method", method, "peer", peerOf(ctx), "error", err)
		s.Stats.Unknown.Add(1)
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	return context.WithValue(ctx, userKey{}, name), nil
}

// Unary authenticates the client of an RPC.
func (s *Server) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := s.authenticate(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	answer, err := next(ctx, req)
	return answer, short(err)
}

// Stream authenticates the client of a streaming RPC.
func (s *Server) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := s.authenticate(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return short(next(srv, named{stream, ctx}))
}

// named is a stream whose context has the user.
type named struct {
	grpc.ServerStream
	ctx context.Context
}

func (n named) Context() context.Context { return n.ctx }
