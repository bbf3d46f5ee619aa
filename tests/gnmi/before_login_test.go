// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// ready is a codec for messages that are octets already.
type ready struct{}

func (ready) Name() string                  { return "proto" }
func (ready) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (ready) Unmarshal([]byte, any) error   { return nil }

// cut is a connection that stops sending after some octets, and stays open.
type cut struct {
	net.Conn
	left atomic.Int64
	gone chan struct{}
	once sync.Once
}

func (c *cut) Write(p []byte) (int, error) {
	if c.left.Add(int64(-len(p))) < 0 {
		<-c.gone
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *cut) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// unfinished keeps connections with many RPCs, of each of which a message of 4 MiB
// has come but for its end, until the test ends; those that are closed come again.
func unfinished(t *testing.T, s *server, trust *tls.Config, connections int, method string, in context.Context) (ended *atomic.Int64) {
	t.Helper()
	const streams, message = 128, 4<<20 - 100
	ended = &atomic.Int64{}
	ctx, stop := context.WithCancel(in)
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	payload := make([]byte, message)
	once := func() {
		conn := s.conn(s.address(), grpc.WithTransportCredentials(credentials.NewTLS(trust)), grpc.WithDefaultCallOptions(grpc.ForceCodec(ready{})),
			grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
				raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
				c := &cut{Conn: raw, gone: make(chan struct{})}
				c.left.Store(streams * (message - 64<<10))
				return c, err
			}))
		defer conn.Close()
		round, end := context.WithTimeout(ctx, 10*time.Second)
		defer end()
		var open sync.WaitGroup
		for range streams {
			rpc, err := conn.NewStream(round, &grpc.StreamDesc{ClientStreams: true}, method)
			if err != nil {
				break
			}
			open.Go(func() {
				_ = rpc.SendMsg(payload)
				_ = rpc.RecvMsg(nil)
			})
		}
		open.Wait()
		ended.Add(1)
	}
	for range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				once()
			}
		})
	}
	return ended
}

// 128 connections with 128 RPCs each, of which a message of 4 MiB has come but for
// its end: without a password, with a wrong one, and where none is asked for.
// Little of it is kept, and users log in beside it.
func TestHostileMessagesBeforeLogin(t *testing.T) {
	soakOnly(t)
	for name, tt := range map[string]struct {
		method string
		as     func(context.Context) context.Context
	}{
		"no password":      {gpb.GNMI_Set_FullMethodName, func(ctx context.Context) context.Context { return ctx }},
		"a wrong password": {gpb.GNMI_Set_FullMethodName, func(ctx context.Context) context.Context { return as(ctx, "bob", "alice") }},
		"health":           {"/grpc.health.v1.Health/Check", func(ctx context.Context) context.Context { return ctx }},
		"a stream":         {gpb.GNMI_Subscribe_FullMethodName, func(ctx context.Context) context.Context { return ctx }},
	} {
		t.Run(name, func(t *testing.T) {
			s, ca := secure(t)
			alice := s.tls(ca.trust())
			fails(t, "alice before", capabilities(as(limited(t), "alice", "ecila"), alice), codes.OK)
			ended := unfinished(t, s, ca.trust(), 128, tt.method, tt.as(t.Context()))
			s.eventually("every connection was closed", func() bool { return ended.Load() >= 256 })
			began := time.Now()
			fails(t, "alice, by a new connection", capabilities(as(limited(t), "alice", "ecila"), s.tls(ca.trust())), codes.OK)
			t.Logf("the server: %d MiB at most, %v of CPU; a login took %v; %d connections have ended", s.peak()>>20, s.cpu(), time.Since(began).Round(time.Millisecond), ended.Load())
			if s.peak() > loginBound {
				t.Errorf("the server has had %d MiB", s.peak()>>20)
			}
		})
	}
}

// A connection without a login ends within seconds, whatever it does.
func TestConnectionsWithoutLoginEnd(t *testing.T) {
	t.Parallel()
	s, ca := secure(t)
	for name, act := range map[string]func(*tls.Conn) error{
		"TCP alone": nil,
		"TLS alone": (*tls.Conn).Handshake,
		"HTTP/2 too": func(c *tls.Conn) error {
			_, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := net.Dial("tcp", s.address())
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			trust := ca.trust()
			trust.NextProtos, trust.ServerName = []string{"h2"}, "127.0.0.1"
			conn := net.Conn(raw)
			if act != nil {
				c := tls.Client(raw, trust)
				if err := act(c); err != nil {
					t.Fatal(err)
				}
				conn = c
			}
			began := time.Now()
			if err := conn.SetReadDeadline(began.Add(patience)); err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, conn)
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				t.Errorf("it is open after %v", patience)
			}
			t.Logf("it ended after %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// A client without a certificate leaves a line in the log, and is counted.
func TestLoginWithoutACertificateIsLogged(t *testing.T) {
	t.Parallel()
	s, ca, alice := mutual(t)
	fails(t, "no certificate", capabilities(limited(t), s.tls(ca.trust())), codes.Unavailable)
	s.eventually("the log says it", func() bool {
		return s.log.find(`level=WARN msg="client refused" peer=tcp:127\.0\.0\.1:\d+ error="tls: client didn't provide a certificate"`) != nil
	})
	s.eventually("it is counted", func() bool { return s.stat("clients_refused") > 0 })
	fails(t, "alice", capabilities(limited(t), s.tls(ca.trust(alice))), codes.OK)
}

// TestUnfinishedRequestsOfAUser: a user, too, keeps little of the server's memory by
// requests that do not end, and others are served beside it.
func TestUnfinishedRequestsOfAUser(t *testing.T) {
	soakOnly(t)
	s, ca := secure(t)
	in := func(ctx context.Context) context.Context { return as(ctx, "alice", "ecila") }
	beside := s.tls(ca.trust())
	fails(t, "alice before", capabilities(in(limited(t)), beside), codes.OK)
	ended := unfinished(t, s, ca.trust(), 32, gpb.GNMI_Set_FullMethodName, in(t.Context()))
	s.eventually("connections were closed", func() bool { return s.stat("sessions_dropped") >= 32 })
	for range 20 {
		fails(t, "alice beside them", capabilities(in(limited(t)), beside), codes.OK)
	}
	fails(t, "alice, by a new connection", capabilities(in(limited(t)), s.tls(ca.trust())), codes.OK)
	t.Logf("the server: %d MiB at most, %v of CPU; %d connections have ended", s.peak()>>20, s.cpu(), ended.Load())
	if s.peak() > loginBound {
		t.Errorf("the server has had %d MiB", s.peak()>>20)
	}
}
