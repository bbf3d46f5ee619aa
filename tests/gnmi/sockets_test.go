// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// mutual starts a server with TLS for clients with certificates, such as alice's.
func mutual(t *testing.T, flags ...string) (*server, *authority, tls.Certificate) {
	t.Helper()
	ca := newAuthority(t, t.TempDir(), "ca")
	ca.leaf("server")
	alice := ca.leaf("alice")
	return start(t, append([]string{"--listen", "127.0.0.1:0", "--cert", ca.file("server.pem"), "--key", ca.file("server.key"), "--ca", ca.file("ca.pem")}, flags...)...), ca, alice
}

// siege opens n sockets to an address, each of which calls act, waits until it is
// closed or told something, and is opened again at once. They come from sources addresses, the
// first of which ends in from. It returns how many were closed so far.
func siege(t *testing.T, network, to string, n, from, sources int, act func(net.Conn)) (closed *atomic.Int64) {
	t.Helper()
	closed = &atomic.Int64{}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	var opened atomic.Int64
	for i := range n {
		dialer := &net.Dialer{}
		if network == "tcp" {
			dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(from+i%sources))}
		}
		all.Go(func() {
			first := true
			for ctx.Err() == nil {
				conn, err := dialer.DialContext(ctx, network, to)
				if first {
					first = false
					opened.Add(1)
				}
				if err != nil {
					continue
				}
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				if act != nil {
					act(conn)
				}
				_, _ = conn.Read(make([]byte, 1<<10))
				stop()
				_ = conn.Close()
				closed.Add(1)
			}
		})
	}
	for deadline := time.Now().Add(patience); opened.Load() < int64(n); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d sockets are open", opened.Load(), n)
		}
	}
	return closed
}

// succeed has n clients do something one after another, 4 at a time, and logs how
// many succeeded and how long it took them.
func succeed(t *testing.T, what string, n int, do func(ctx context.Context) error) {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var last error
	var group sync.WaitGroup
	turns := make(chan struct{}, 4)
	for range n {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			began := time.Now()
			err := do(limited(t))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				last = err
				return
			}
			took = append(took, time.Since(began))
		})
	}
	group.Wait()
	if slices.Sort(took); len(took) > 0 {
		t.Logf("%s: %d of %d succeed, p50 %v, most %v", what, len(took), n, took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
	if len(took) < n {
		t.Errorf("%s: %d of %d succeed; the last error: %v", what, len(took), n, last)
	}
}

// A thousand sockets that say nothing, or begin and go no further, and that connect
// again when they are closed: clients with certificates, from the same address as
// the sockets, and the health service notice nothing.
func TestHostileSockets(t *testing.T) {
	hello := func(conn net.Conn) { _, _ = conn.Write([]byte{22, 3, 1, 2, 0, 1, 0}) } // the first octets of a ClientHello
	for name, tt := range map[string]struct {
		n, from, sources int // the clients come from 1
		clients          int
		act              func(net.Conn)
		long             bool
	}{
		"silent":                             {1000, 1, 1, 100, nil, false},
		"silent, of many addresses":          {1000, 1, 200, 100, nil, true},
		"a part of a ClientHello":            {1000, 1, 1, 100, hello, true},
		"more than may wait":                 {2500, 2, 50, 20, hello, true},
		"more than may wait, all in silence": {2500, 1, 50, 20, nil, true},
	} {
		if tt.long && !soak {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, ca, alice := mutual(t)
			closed := siege(t, "tcp", s.address(), tt.n, tt.from, tt.sources, tt.act)
			before := s.cpu()
			succeed(t, "clients with certificates", tt.clients, func(ctx context.Context) error {
				conn := s.conn(s.address(), grpc.WithTransportCredentials(credentials.NewTLS(ca.trust(alice))))
				defer conn.Close()
				_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
				return err
			})
			succeed(t, "health by the unix socket", 100, s.healthy)
			t.Logf("the server: %d MiB at most, %v of CPU; %d sockets were closed", s.peak()>>20, s.cpu()-before, closed.Load())
			s.eventually("what ended is counted", func() bool { return s.stat("logins_ended") > 0 })
		})
	}
}

// Silent connections to the unix socket do not lock out its other clients.
func TestSilentUnixSocketConnections(t *testing.T) {
	soakOnly(t)
	s, _, _ := mutual(t)
	siege(t, "unix", s.socket(), 1500, 1, 1, nil)
	succeed(t, "health by the unix socket", 100, s.healthy)
	s.mustSet(algorithm("crc32", nil))
}

// Sessions over the limit of one listener do not count on another.
func TestLimitOfSessionsByListener(t *testing.T) {
	s, ca, alice := mutual(t, "--max-sessions", "8")
	ctx := limited(t)
	for range 7 {
		fails(t, "a session", capabilities(ctx, s.tls(ca.trust(alice))), codes.OK)
	}
	fails(t, "the eighth of one address", capabilities(ctx, s.tls(ca.trust(alice))), codes.Unavailable)
	elsewhere := grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext(ctx, "tcp", to)
	})
	other := func() error {
		return capabilities(ctx, s.dial(s.address(), elsewhere, grpc.WithTransportCredentials(credentials.NewTLS(ca.trust(alice)))))
	}
	fails(t, "one of another address", other(), codes.OK)
	fails(t, "the ninth", other(), codes.Unavailable)
	for range 8 {
		fails(t, "by the unix socket", capabilities(ctx, s.client()), codes.OK)
	}
	s.eventually("it is counted", func() bool { return s.stat("sessions_refused") >= 2 })
}

// healthy asks for the health by a connection of its own.
func (s *server) healthy(ctx context.Context) error {
	conn := s.conn("unix:"+s.socket(), insecureOption)
	defer conn.Close()
	out, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err == nil && out.Status != healthpb.HealthCheckResponse_SERVING {
		err = fmt.Errorf("it is %v", out.Status)
	}
	return err
}

// proc hands the words of a file of /proc about the server to f.
func (s *server) proc(file string, f func(fields []string)) {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.process.Process.Pid, file))
	if err != nil {
		s.t.Fatal(err)
	}
	f(strings.Fields(string(text)))
}

// cpu returns how much of a core the server has used.
func (s *server) cpu() time.Duration {
	s.t.Helper()
	var clock [2]int64
	s.proc("stat", func(fields []string) { // behind the name, which has no space
		for i, f := range fields[13:15] {
			_, _ = fmt.Sscan(f, &clock[i])
		}
	})
	return time.Duration(clock[0]+clock[1]) * (time.Second / 100)
}

// peak returns the most memory that the server has had resident so far, in octets.
func (s *server) peak() int64 {
	s.t.Helper()
	var kib int64
	s.proc("status", func(fields []string) {
		_, _ = fmt.Sscan(fields[slices.Index(fields, "VmHWM:")+1], &kib)
	})
	return kib << 10
}

// stat returns a counter that the server shows.
func (s *server) stat(name string) int {
	all, err := s.counter.Read(s.t.Context(), "SLUICE_GNMI_STATS")
	if err != nil || len(all) != 1 {
		return -1
	}
	var n int
	_, _ = fmt.Sscan(all[0].Fields[name], &n)
	return n
}
