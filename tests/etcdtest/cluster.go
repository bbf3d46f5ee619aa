// SPDX-License-Identifier: Apache-2.0

// Package etcdtest runs etcd for tests: clusters on loopback, proxies that are cut, and
// certificates.
package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/tests/loopback"
)

// Cluster is an etcd of some members, on loopback.
type Cluster struct {
	TB      testing.TB
	Members []*Member
	Client  *clientv3.Client // of the test; nil with TLS
}

// Member is one of a cluster.
type Member struct {
	URL    string // of clients
	args   []string
	cmd    *exec.Cmd
	exited chan struct{}
	log    bytes.Buffer
}

// memory returns a folder in memory, where the machine has one, until the test ends: a member writes to
// its disk before it answers, and that of a machine under load takes seconds.
func memory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sluice-etcd-*")
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Start starts n members; args are for each.
func Start(tb testing.TB, n int, scheme string, args ...string) *Cluster {
	tb.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		tb.Skip("etcd is not installed: make deps")
	}
	address, dir := loopback.Free(tb, "tcp", 2*n), memory(tb)
	var peers []string
	for i := range n {
		peers = append(peers, fmt.Sprintf("m%d=http://%s", i, address[2*i]))
	}
	c := &Cluster{TB: tb}
	for i := range n {
		m := &Member{URL: scheme + "://" + address[2*i+1]}
		peer := "http://" + address[2*i]
		name := fmt.Sprintf("m%d", i)
		m.args = append([]string{
			"--name", name, "--data-dir", filepath.Join(dir, name), "--logger", "zap",
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--listen-client-urls", m.URL, "--advertise-client-urls", m.URL,
			"--initial-cluster", strings.Join(peers, ","), "--initial-cluster-state", "new", "--initial-cluster-token", dir,
		}, args...)
		c.Members = append(c.Members, m)
		c.Start(i)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			for _, m := range c.Members {
				c.TB.Logf("%s, its last words:\n%s", m.URL, tail(m.log.String(), 2000))
			}
		}
	})
	tb.Cleanup(func() {
		for i := range c.Members {
			c.Kill(i)
		}
	})
	if scheme == "http" {
		c.Client = dial(tb, c.URLs())
		Eventually(tb, time.Minute, "etcd answers", func() error {
			ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Second)
			defer cancel()
			_, err := c.Client.Put(ctx, "ready", "")
			return err
		})
	}
	return c
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func dial(tb testing.TB, urls []string) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: urls, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { client.Close() }) //nolint:errcheck // the test is over
	return client
}

// URLs are those of all members.
func (c *Cluster) URLs() (urls []string) {
	for _, m := range c.Members {
		urls = append(urls, m.URL)
	}
	return urls
}

// Start starts member i, or starts it again with its data.
func (c *Cluster) Start(i int) {
	c.TB.Helper()
	m := c.Members[i]
	m.cmd = exec.Command("etcd", m.args...)
	m.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	m.cmd.Stdout, m.cmd.Stderr = &m.log, &m.log
	if err := child.Start(m.cmd); err != nil {
		c.TB.Fatal(err)
	}
	m.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		cmd.Wait() //nolint:errcheck // it is killed
		close(exited)
	}(m.cmd, m.exited)
}

// Kill ends member i with SIGKILL, if it runs.
func (c *Cluster) Kill(i int) {
	m := c.Members[i]
	m.cmd.Process.Kill() //nolint:errcheck // it may have ended
	<-m.exited
}

// Leader is the number of the member that leads.
func (c *Cluster) Leader() int {
	c.TB.Helper()
	lead := -1
	Eventually(c.TB, time.Minute, "a leader", func() error {
		for i, m := range c.Members {
			ctx, cancel := context.WithTimeout(c.TB.Context(), 2*time.Second)
			s, err := c.Client.Status(ctx, m.URL)
			cancel()
			if err == nil && s.Leader == s.Header.MemberId {
				lead = i
				return nil
			}
		}
		return errors.New("none")
	})
	return lead
}

// Eventually polls until f succeeds.
func Eventually(tb testing.TB, limit time.Duration, what string, f func() error) {
	tb.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %s: %v", limit, what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Proxy forwards TCP connections to an address until it is cut.
type Proxy struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	open     *sync.Cond
	cut      bool
	closed   bool
	conns    map[net.Conn]bool
}

// StartProxy starts a proxy to an address of http.
func StartProxy(tb testing.TB, to string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, to: strings.TrimPrefix(to, "http://"), conns: map[net.Conn]bool{}}
	p.open = sync.NewCond(&p.mu)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(client) })
		}
	})
	tb.Cleanup(func() {
		l.Close() //nolint:errcheck // the test is over
		p.mu.Lock()
		p.closed = true
		for c := range p.conns {
			c.Close() //nolint:errcheck // likewise
		}
		p.mu.Unlock()
		p.open.Broadcast()
		all.Wait()
	})
	return p
}

// URL is that of the proxy.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Cut cuts the proxy, so that it holds the octets that it reads, or lets it forward
// again.
func (p *Proxy) Cut(cut bool) {
	p.mu.Lock()
	p.cut = cut
	p.mu.Unlock()
	p.open.Broadcast()
}

func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	if p.closed {
		c.Close() //nolint:errcheck // the test is over
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.keep(client)
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	p.keep(server)
	defer server.Close()
	var back sync.WaitGroup
	back.Go(func() { p.copy(client, server) })
	p.copy(server, client)
	back.Wait()
}

func (p *Proxy) copy(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for p.cut && !p.closed {
			p.open.Wait()
		}
		p.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// RequirePasswords makes a user "switch", who has full access, and turns authentication
// on: from then on etcd refuses [Cluster.Client].
func (c *Cluster) RequirePasswords(password string) {
	c.TB.Helper()
	ctx := c.TB.Context()
	for _, step := range []func() error{
		func() error { _, err := c.Client.UserAdd(ctx, "root", "root-secret"); return err },
		func() error { _, err := c.Client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.Client.UserAdd(ctx, "switch", password); return err },
		func() error { _, err := c.Client.UserGrantRole(ctx, "switch", "root"); return err },
		func() error { _, err := c.Client.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			c.TB.Fatal(err)
		}
	}
}
