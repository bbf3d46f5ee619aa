// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"net"
	"sync"

	"sluice/gnmi-server/server"
)

// sessions counts connections of all listeners.
type sessions struct {
	free  chan struct{} // one for each more that may be
	stats *server.Stats
	log   *slog.Logger
}

func newSessions(limit int, stats *server.Stats, log *slog.Logger) *sessions {
	s := &sessions{free: make(chan struct{}, limit), stats: stats, log: log}
	for range limit {
		s.free <- struct{}{}
	}
	return s
}

// limit makes a listener close what connects while there are too many.
func (s *sessions) limit(ear net.Listener) net.Listener { return limited{ear, s} }

type limited struct {
	net.Listener
	sessions *sessions
}

func (l limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case <-l.sessions.free:
			l.sessions.stats.Sessions.Add(1)
			return &session{Conn: conn, sessions: l.sessions}, nil
		default:
			l.sessions.stats.TooMany.Add(1)
			l.sessions.log.Warn("connection refused: too many", "peer", conn.RemoteAddr().String(), "limit", cap(l.sessions.free))
			_ = conn.Close()
		}
	}
}

// session is a connection that counts until it is closed.
type session struct {
	net.Conn
	sessions *sessions
	once     sync.Once
}

func (s *session) Close() error {
	s.once.Do(func() {
		s.sessions.stats.Sessions.Add(-1)
		s.sessions.free <- struct{}{}
	})
	return s.Conn.Close()
}
