// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"
)

func from(n byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, n}), 32)
}

// The address with the most connections loses its oldest one, a silent one before
// others that are not much older; a new one that has sent nothing yet stays.
func TestLimitDisplacesConnectionsOfTheBusiestAddress(t *testing.T) {
	p := newPool(5)
	add := func(source byte, at int64, heard int64) *Conn {
		c := &Conn{source: from(source)}
		c.heard.Store(heard)
		p.add(c, time.Unix(at, 0))
		return c
	}
	add(1, 0, 1) // the oldest of all, and the only one of its address
	old, younger, silent, fresh := add(2, 1, 1), add(2, 50, 1), add(2, 90, 0), add(2, 99, 0)
	if c := p.surplus(time.Unix(100, 0)); c != nil {
		t.Errorf("%v goes, and there is room", c)
	}
	add(3, 100, 0)
	for i, want := range []*Conn{silent, old, younger, fresh} {
		got := p.surplus(time.Unix(100, 0))
		if got != want {
			t.Fatalf("%d: %v goes", i, got)
		}
		p.remove(got)
		add(byte(4+i), 100, 0)
		if i == 2 {
			add(2, 100, 0)
			p.limit++
		}
	}
}

// client dials a listener and returns both ends.
func client(t *testing.T, l *Listener) (near net.Conn, far *Conn) {
	t.Helper()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close() })
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return near, conn.(*Conn)
}

func listen(t *testing.T, limits Limits, begin State) *Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return Limit(l, limits, begin, &Stats{}, slog.New(slog.DiscardHandler))
}

// ended waits until the other end has closed a connection.
func ended(t *testing.T, near net.Conn) {
	t.Helper()
	if err := near.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, near); err != nil || n != 0 {
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("it is open: %v", err)
		}
	}
}

// Sessions stay, whatever comes; what is too many of an address or in total is
// refused, and its place is free again once it is closed.
func TestLimitOfSessions(t *testing.T) {
	l := listen(t, Limits{Handshakes: 2, Logins: 2, Sessions: 3, PerSource: 2, LoginTime: time.Minute}, Handshake)
	_, a := client(t, l)
	_, b := client(t, l)
	for _, c := range []*Conn{a, b, a} {
		if err := c.Admit(); err != nil {
			t.Fatal(err)
		}
	}
	near, c := client(t, l)
	if err := c.Admit(); err == nil {
		t.Error("a third session of an address")
	}
	ended(t, near)
	if n := l.stats.TooMany.Load(); n != 1 {
		t.Errorf("%d refused", n)
	}
	_ = a.Close()
	_ = a.Close()
	_, d := client(t, l)
	if err := d.Admit(); err != nil {
		t.Error(err)
	}
	for range 5 {
		client(t, l)
	}
	if open, waiting, ended := l.stats.Open.Load(), l.stats.Waiting.Load(), l.stats.Ended.Load(); open != 2 || waiting != 2 || ended != 3 {
		t.Errorf("%d are open, %d wait, %d have ended", open, waiting, ended)
	}
}

// Before its login a connection is closed when its time is over, when it sends too
// much, and when it asks too often.
func TestLimitBeforeTheLogin(t *testing.T) {
	for name, tt := range map[string]struct {
		time time.Duration
		act  func(near net.Conn, far *Conn)
	}{
		"in time": {50 * time.Millisecond, func(net.Conn, *Conn) {}},
		"octets": {time.Minute, func(near net.Conn, far *Conn) {
			go func() { _, _ = near.Write(make([]byte, mostHeard+1)) }()
			_, _ = io.Copy(io.Discard, far)
		}},
		"RPCs": {time.Minute, func(_ net.Conn, far *Conn) {
			for range mostAsked {
				far.Ask()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, Limits{Handshakes: 9, Logins: 9, Sessions: 9, PerSource: 9, LoginTime: tt.time}, Login)
			near, far := client(t, l)
			tt.act(near, far)
			ended(t, near)
			if n := l.stats.Ended.Load(); n != 1 {
				t.Errorf("%d have ended", n)
			}
			if n := l.stats.Waiting.Load(); n != 0 {
				t.Errorf("%d wait", n)
			}
		})
	}
}

// A session is free of the limits before the login.
func TestLimitsEndWithTheLogin(t *testing.T) {
	l := listen(t, Limits{Handshakes: 9, Logins: 9, Sessions: 9, PerSource: 9, LoginTime: 20 * time.Millisecond}, Login)
	near, far := client(t, l)
	if err := far.Admit(); err != nil {
		t.Fatal(err)
	}
	for range 2 * mostAsked {
		far.Ask()
	}
	go func() { _, _ = near.Write(make([]byte, 2*mostHeard)) }()
	if _, err := io.ReadFull(far, make([]byte, 2*mostHeard)); err != nil {
		t.Error(err)
	}
}
