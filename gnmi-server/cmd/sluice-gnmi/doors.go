// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/server"
)

const (
	// A client is asked whether it is there after this silence, and is gone if it
	// says nothing.
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second

	// A client that pings more often than this is cut off.
	pingMinimum = 5 * time.Second

	// handshake is for how long a new connection may say nothing.
	handshake = 10 * time.Second

	// streamsPerSession is how many RPCs a connection may have open.
	streamsPerSession = 128

	// grace is how long RPCs have to end when the server stops.
	grace = 5 * time.Second

	// healthInterval is how often the databases are asked whether they answer.
	healthInterval = 2 * time.Second
)

// doors are the listeners, each with the gRPC server behind it.
type doors struct {
	server  *server.Server
	health  *health.Server
	servers []*grpc.Server
	ears    []net.Listener
}

// open opens what the options name.
func open(o *options, s *server.Server, log *slog.Logger) (*doors, error) {
	d := &doors{server: s, health: health.NewServer()}
	sessions := newSessions(o.maxSessions, &s.Stats, log)
	if o.socket != "" {
		ear, err := listenUnix(o.socket)
		if err != nil {
			return nil, err
		}
		d.add(o, ear, sessions, nil)
		log.Info("listening", "socket", o.socket)
	}
	if o.plain != "" {
		ear, err := listenLoopback(o.plain)
		if err != nil {
			return nil, err
		}
		d.add(o, ear, sessions, nil)
		log.Warn("listening in plain text", "address", ear.Addr().String())
	}
	if o.cert != "" {
		config, err := auth.Certificates(o.cert, o.key, o.ca, log)
		if err != nil {
			return nil, err
		}
		ear, err := net.Listen("tcp", o.listen)
		if err != nil {
			return nil, err
		}
		d.add(o, ear, sessions, credentials.NewTLS(config))
		log.Info("listening with TLS", "address", ear.Addr().String())
	}
	return d, nil
}

// add puts a gRPC server behind a listener.
func (d *doors) add(o *options, ear net.Listener, sessions *sessions, c credentials.TransportCredentials) {
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(d.server.Unary),
		grpc.StreamInterceptor(d.server.Stream),
		grpc.MaxRecvMsgSize(o.maxMessage),
		grpc.MaxConcurrentStreams(streamsPerSession),
		grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingMinimum, PermitWithoutStream: true}),
	}
	if c != nil {
		options = append(options, grpc.Creds(c))
	}
	s := grpc.NewServer(options...)
	gpb.RegisterGNMIServer(s, d.server)
	healthpb.RegisterHealthServer(s, d.health)
	if o.reflection {
		reflection.Register(s)
	}
	d.servers = append(d.servers, s)
	d.ears = append(d.ears, sessions.limit(ear))
}

// serve serves until ctx is done, and then lets RPCs end for a while.
func (d *doors) serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range d.servers {
		group.Go(func() error {
			if err := s.Serve(d.ears[i]); !errors.Is(err, grpc.ErrServerStopped) { // before it began
				return err
			}
			return nil
		})
	}
	group.Go(func() error {
		d.watchHealth(ctx)
		d.health.Shutdown()
		for _, s := range d.servers {
			hard := time.AfterFunc(grace, s.Stop)
			s.GracefulStop()
			hard.Stop()
		}
		return nil
	})
	return group.Wait()
}

// watchHealth says that the server serves while the databases answer.
func (d *doors) watchHealth(ctx context.Context) {
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	for {
		is := healthpb.HealthCheckResponse_NOT_SERVING
		if d.server.Ping(ctx) == nil {
			is = healthpb.HealthCheckResponse_SERVING
		}
		d.health.SetServingStatus("", is)
		d.health.SetServingStatus(gpb.GNMI_ServiceDesc.ServiceName, is)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// listenUnix listens on a socket for its owner and group. What an ended process
// has left there is removed.
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
