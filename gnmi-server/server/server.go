// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/sync/errgroup"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
	"sluice/orchagent-ext/db/sonicdb"
)

// Config has the parts and limits of a Server.
type Config struct {
	Databases map[string]*sonicdb.DB // those of paths.Databases, by name
	Policy    *auth.Policy           // nil: every user may read and write all
	Who       *auth.Authenticator
	// StateFile: what an unconfirmed commit takes back; empty: no commits
	StateFile string
	Log       *slog.Logger // nil: silence

	QueueLimit int           // leaves that may wait for a stream; 0: 65536
	Stall      time.Duration // for which a stream may stand still; 0: 30 s
	Streams    int           // Subscribe RPCs at once; 0: 256
	Operations int           // of a Set; 0: 4096
	Leaves     int           // that a client may read in a second; 0: 50000
}

// Server answers RPCs. Run must run for STREAM and for commits.
type Server struct {
	gpb.UnimplementedGNMIServer
	Config
	Stats Stats

	reader *tree.Reader
	live   *tree.Live
	budget *budget

	setting  sync.Mutex // one Set at a time
	commit   *commit
	stopping chan struct{} // closed when Run ends
}

// New returns a server. It changes nothing before [Server.Run]. Zero limits become the
// defaults of [Config].
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
	if c.Operations == 0 {
		c.Operations = 4096
	}
	if c.Leaves == 0 {
		c.Leaves = 50000
	}
	s := &Server{Config: c, reader: tree.NewReader(c.Databases), live: tree.NewLive(), stopping: make(chan struct{})}
	s.budget = newBudget(c.Leaves)
	s.commit = newCommit(s)
	return s
}

// Run follows the databases, shows its counters there and takes back commits that are
// still unconfirmed at their deadline, until ctx is done; then streams end. It is called
// once.
func (s *Server) Run(ctx context.Context) error {
	defer close(s.stopping)
	s.commit.load()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.live.Run(ctx, s.Databases) })
	group.Go(func() error { return s.publish(ctx) })
	group.Go(func() error {
		select {
		case <-ctx.Done():
		case <-s.live.Ready():
			debug.FreeOSMemory() // what the first reading took, several times what stays
		}
		return nil
	})
	group.Go(func() error { s.commit.run(ctx); return nil })
	return group.Wait()
}

// Ready is closed once the databases have been read. STREAM subscriptions wait for it.
func (s *Server) Ready() <-chan struct{} { return s.live.Ready() }

// Ping checks that the databases answer. The error is that of the first database that
// does not.
func (s *Server) Ping(ctx context.Context) error {
	for _, name := range paths.Databases {
		if err := s.Databases[name].Ping(ctx); err != nil {
			return err
		}
	}
	return nil
}
