// SPDX-License-Identifier: Apache-2.0

package ipfixtest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pion/dtls/v3"
)

// Collector hears one transport on a loopback address. Each connection has a
// decoder of its own, and so has each UDP source port.
type Collector struct {
	Addr string // where it listens

	mu       sync.Mutex
	sessions []*Decoder
	errs     []error
	paused   bool
	resume   *sync.Cond
	close    func()
	all      sync.WaitGroup
	conns    map[io.Closer]bool
}

// Security is a collector's certificate, and the CAs of its clients; nil:
// unencrypted.
type Security struct {
	Certificate tls.Certificate
	Clients     *x509.CertPool // nil: anybody
}

// Listen starts a collector that ends with the test. network is udp, tcp, tls
// or dtls; address can have port 0.
func Listen(tb testing.TB, network, address string, s *Security) *Collector {
	tb.Helper()
	c := &Collector{conns: map[io.Closer]bool{}}
	c.resume = sync.NewCond(&c.mu)
	var err error
	switch network {
	case "udp":
		err = c.listenUDP(address)
	case "tcp", "tls":
		err = c.listenTCP(address, s)
	case "dtls":
		err = c.listenDTLS(address, s)
	default:
		tb.Fatalf("network %q", network)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// Close stops listening and ends every connection, at once.
func (c *Collector) Close() {
	c.close()
	c.mu.Lock()
	c.paused = false
	c.resume.Broadcast()
	for conn := range c.conns {
		if t, ok := conn.(*net.TCPConn); ok {
			t.SetLinger(0) //nolint:errcheck // a reset, if it can be
		}
		conn.Close() //nolint:errcheck // it ends anyway
	}
	c.mu.Unlock()
	c.all.Wait()
}

// Pause makes the collector stop reading, until Resume.
func (c *Collector) Pause() {
	c.mu.Lock()
	c.paused = true
	c.mu.Unlock()
}

// Resume ends a Pause.
func (c *Collector) Resume() {
	c.mu.Lock()
	c.paused = false
	c.resume.Broadcast()
	c.mu.Unlock()
}

// Look calls f with the sessions so far.
func (c *Collector) Look(f func(sessions []*Decoder)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.sessions)
}

// patience is for a machine that has much else to do.
const patience = 2 * time.Minute

// Wait waits until ok is true for the sessions.
func (c *Collector) Wait(tb testing.TB, what string, ok func(sessions []*Decoder) bool) {
	tb.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		done, errs := ok(c.sessions), errors.Join(c.errs...)
		c.mu.Unlock()
		if errs != nil {
			tb.Fatalf("collector: %v", errs)
		}
		if done {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("collector: waited %v in vain for %s", patience, what)
		}
	}
}

// WaitRecords waits for n records of flows or packets, in all sessions, and
// returns them.
func (c *Collector) WaitRecords(tb testing.TB, n int) []Record {
	tb.Helper()
	c.Wait(tb, "records", func(sessions []*Decoder) bool {
		there := 0
		for _, s := range sessions {
			there += len(s.Records)
		}
		return there >= n
	})
	var all []Record
	c.Look(func(sessions []*Decoder) {
		for _, s := range sessions {
			all = append(all, s.Records...)
		}
	})
	return all
}

// session returns the function that feeds messages to a new decoder.
func (c *Collector) session() func(message []byte) {
	d := NewDecoder()
	c.mu.Lock()
	c.sessions = append(c.sessions, d)
	c.mu.Unlock()
	return func(message []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := d.Feed(message); err != nil {
			c.errs = append(c.errs, err)
		}
	}
}

// wait waits while the collector is paused.
func (c *Collector) wait() {
	c.mu.Lock()
	for c.paused {
		c.resume.Wait()
	}
	c.mu.Unlock()
}

// listenUDP starts to receive datagrams; each source address is a session.
func (c *Collector) listenUDP(address string) error {
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	if err := conn.(*net.UDPConn).SetReadBuffer(8 << 20); err != nil {
		return err
	}
	c.Addr, c.close = conn.LocalAddr().String(), func() { conn.Close() } //nolint:errcheck // it ends anyway
	c.all.Go(func() {
		feeds := map[string]func([]byte){}
		buf := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			c.wait()
			if feeds[from.String()] == nil {
				feeds[from.String()] = c.session()
			}
			feeds[from.String()](buf[:n])
		}
	})
	return nil
}

// listenTCP starts to accept TCP, or TLS with s.
func (c *Collector) listenTCP(address string, s *Security) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	c.accept(l, func(conn net.Conn) net.Conn {
		if s == nil {
			return conn
		}
		config := &tls.Config{Certificates: []tls.Certificate{s.Certificate}}
		if s.Clients != nil {
			config.ClientCAs, config.ClientAuth = s.Clients, tls.RequireAndVerifyClientCert
		}
		return tls.Server(conn, config)
	}, stream)
	return nil
}

// listenDTLS starts to accept DTLS.
func (c *Collector) listenDTLS(address string, s *Security) error {
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return err
	}
	options := []dtls.ServerOption{dtls.WithCertificates(s.Certificate), dtls.WithExtendedMasterSecret(dtls.RequireExtendedMasterSecret)}
	if s.Clients != nil {
		options = append(options, dtls.WithClientAuth(dtls.RequireAndVerifyClientCert), dtls.WithClientCAs(s.Clients))
	}
	l, err := dtls.ListenWithOptions("udp", at, options...)
	if err != nil {
		return err
	}
	c.accept(l, func(conn net.Conn) net.Conn { return conn }, datagrams)
	return nil
}

// accept reads each connection as a session of its own, until the listener is
// closed.
func (c *Collector) accept(l net.Listener, secure func(net.Conn) net.Conn, read func(io.Reader, func(), func([]byte))) {
	c.Addr, c.close = l.Addr().String(), func() { l.Close() } //nolint:errcheck // it ends anyway
	c.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if t, ok := conn.(*net.TCPConn); ok {
				t.SetReadBuffer(1 << 16) //nolint:errcheck // smaller or not, a paused collector is full at some time
			}
			c.mu.Lock()
			c.conns[conn] = true
			c.mu.Unlock()
			c.all.Go(func() {
				defer conn.Close()
				read(secure(conn), c.wait, c.session())
			})
		}
	})
}

// stream reads messages that follow one another until the connection ends.
func stream(r io.Reader, wait func(), feed func([]byte)) {
	header := make([]byte, headerLen)
	for {
		wait()
		if _, err := io.ReadFull(r, header); err != nil {
			return
		}
		length := int(binary.BigEndian.Uint16(header[2:]))
		message := append(make([]byte, 0, max(length, headerLen)), header...)[:max(length, headerLen)]
		if _, err := io.ReadFull(r, message[headerLen:]); err != nil {
			return
		}
		feed(message)
	}
}

// datagrams reads messages that come one by one.
func datagrams(r io.Reader, wait func(), feed func([]byte)) {
	buf := make([]byte, 1<<16)
	for {
		wait()
		n, err := r.Read(buf)
		if err != nil {
			return
		}
		feed(buf[:n])
	}
}
