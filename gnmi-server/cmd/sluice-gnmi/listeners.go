// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"sluice/gnmi-server/server"
	"sluice/gnmi-server/sessions"
)

const (
	readBuffer = 4 << 10 // octets of a session, of which a hundred may rest

	// A silent client gets a keepalive ping after keepaliveTime, and is disconnected
	// without an answer.
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second

	// A client that pings more often than this is disconnected.
	pingMinimum = 5 * time.Second

	// handshake is for how long TLS and the first octets of HTTP/2 may take.
	handshake = 5 * time.Second

	// idle is for how long a session may have no RPC.
	idle = 5 * time.Minute

	// streamsPerSession is how many RPCs a connection may have open.
	streamsPerSession = 128

	// headers is how long the headers of an RPC may be, in octets.
	headers = 16 << 10

	// window is how much of a message gRPC receives before the server reads it, in
	// octets.
	window = 64 << 10

	// requestsAtOnce is how many of the longest requests the server keeps at once, of all
	// RPCs that are open, but fewestOctets at least; most requests are short.
	requestsAtOnce = 8
	fewestOctets   = 32 << 20

	// othersShare is the share of a port's sessions that one address cannot have.
	othersShare = 8

	// grace is how long RPCs have to end when the server stops.
	grace = 5 * time.Second

	// healthInterval is how often the databases are pinged.
	healthInterval = 2 * time.Second
)

// listeners are the open listeners, each with its gRPC server.
type listeners struct {
	options  *options
	server   *server.Server
	health   *health.Server
	servers  []*grpc.Server
	limited  []net.Listener
	requests *sessions.Requests
	log      *slog.Logger
}

// open opens the databases and listeners that the options name.
func open(o *options, s *server.Server, log *slog.Logger) (*listeners, error) {
	p := &listeners{options: o, server: s, health: health.NewServer(), requests: sessions.NewRequests(max(requestsAtOnce*o.maxMessage, fewestOctets)), log: log}
	if o.socket != "" {
		l, err := listenUnix(o.socket)
		if err != nil {
			return nil, err
		}
		p.add(l, o.maxSessions, nil)
		log.Info("listening", "socket", o.socket)
	}
	if o.plain != "" {
		l, err := listenLoopback(o.plain)
		if err != nil {
			return nil, err
		}
		p.add(l, o.maxSessions, nil)
		log.Warn("listening in plain text", "address", l.Addr().String())
	}
	if o.cert != "" {
		l, err := net.Listen("tcp", o.listen)
		if err != nil {
			return nil, err
		}
		p.add(l, o.maxSessions-o.maxSessions/othersShare, s.Who.Certificates.Config())
		log.Info("listening with TLS", "address", l.Addr().String())
	}
	return p, nil
}

// add makes the gRPC server of a listener; perSource is how many sessions an address
// may have there.
func (p *listeners) add(l net.Listener, perSource int, config *tls.Config) {
	o := p.options
	options := []grpc.ServerOption{
		grpc.ReadBufferSize(readBuffer),
		grpc.InTapHandle(p.server.Tap),
		grpc.UnaryInterceptor(p.server.Unary),
		grpc.StreamInterceptor(p.server.Stream),
		grpc.ForceServerCodecV2(server.Codec()),
		grpc.MaxRecvMsgSize(o.maxMessage),
		grpc.MaxHeaderListSize(headers),
		grpc.StaticStreamWindowSize(window),
		grpc.MaxConcurrentStreams(streamsPerSession),
		grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idle, Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingMinimum, PermitWithoutStream: true}),
	}
	limits := sessions.Limits{
		Handshakes: min(sessions.Handshakes, descriptors()/4), Logins: min(sessions.Logins, descriptors()/8), LoginTime: sessions.LoginTime,
		Sessions: o.maxSessions, PerSource: perSource, Requests: p.requests,
	}
	begin := sessions.Handshake
	if config != nil {
		options = append(options, grpc.Creds(sessions.Follow(credentials.NewTLS(config))))
	} else { // in the clear at first: TLS takes most of the memory before a login
		begin, limits.Logins = sessions.Login, limits.Handshakes
	}
	s := grpc.NewServer(options...)
	p.server.Register(s)
	healthpb.RegisterHealthServer(s, p.health)
	if o.reflection {
		reflection.Register(s)
	}
	p.servers = append(p.servers, s)
	p.limited = append(p.limited, sessions.Limit(l, limits, begin, &p.server.Stats.Connections, p.log))
}

// descriptors returns how many files and connections the process may have open.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 // the least that Linux gives
	}
	return int(min(limit.Cur, 1<<20)) //nolint:gosec // it fits
}

// serve serves until ctx is done, and then lets RPCs end for a while.
func (p *listeners) serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range p.servers {
		group.Go(func() error {
			// before it began
			if err := s.Serve(p.limited[i]); !errors.Is(err, grpc.ErrServerStopped) {
				return err
			}
			return nil
		})
	}
	group.Go(func() error {
		p.watchHealth(ctx)
		p.health.Shutdown()
		for _, s := range p.servers {
			hard := time.AfterFunc(grace, s.Stop)
			s.GracefulStop()
			hard.Stop()
		}
		return nil
	})
	return group.Wait()
}

// watchHealth reports SERVING while the databases answer.
func (p *listeners) watchHealth(ctx context.Context) {
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	for {
		is := healthpb.HealthCheckResponse_NOT_SERVING
		if p.server.Ping(ctx) == nil {
			is = healthpb.HealthCheckResponse_SERVING
		}
		p.health.SetServingStatus("", is)
		p.health.SetServingStatus(gpb.GNMI_ServiceDesc.ServiceName, is)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// listenUnix listens on a socket for its owner and group. The socket of an ended
// process is removed first.
func listenUnix(path string) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("socket %s: another process listens there", path)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	old := syscall.Umask(0o117) // rw-rw----, from the first moment on
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}

// listenLoopback listens on an address, which must be of loopback.
func listenLoopback(address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("--insecure-loopback %q must be an address of loopback and a port, as 127.0.0.1:50070; elsewhere TLS is needed", address)
	}
	return net.Listen("tcp", address)
}
