// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"net/netip"
	"time"
)

// State is how far a connection has come.
type State int

// The states, in their order.
const (
	Handshake State = iota
	Login
	Session
)

// pool are the connections of a listener in one state.
type pool struct {
	limit   int
	since   map[*Conn]time.Time // when it came to this state
	sources map[netip.Prefix]int
}

func newPool(limit int) *pool {
	return &pool{limit: limit, since: make(map[*Conn]time.Time), sources: make(map[netip.Prefix]int)}
}

func (p *pool) add(c *Conn, now time.Time) {
	p.since[c] = now
	p.sources[c.source]++
}

func (p *pool) remove(c *Conn) {
	if _, ok := p.since[c]; !ok {
		return
	}
	delete(p.since, c)
	if p.sources[c.source]--; p.sources[c.source] == 0 {
		delete(p.sources, c.source)
	}
}

// surplus returns the connection that has to go, nil while there are not too many:
// one of the address that has most, of those a silent one, of those the oldest.
func (p *pool) surplus(now time.Time) *Conn {
	if len(p.since) <= p.limit {
		return nil
	}
	var worst *Conn
	for c, since := range p.since {
		if worst == nil || cmp.Or(
			cmp.Compare(p.sources[c.source], p.sources[worst.source]),
			cmp.Compare(p.silent(c, now), p.silent(worst, now)),
			p.since[worst].Compare(since),
		) > 0 {
			worst = c
		}
	}
	return worst
}

// moment is how long the first octets of a client may be on their way.
const moment = 50 * time.Millisecond

// silent is 1 for a connection by which nothing came, and should have.
func (p *pool) silent(c *Conn, now time.Time) int {
	if c.heard.Load() == 0 && now.Sub(p.since[c]) > moment {
		return 1
	}
	return 0
}
