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

// newPool returns a pool of at most so many connections.
func newPool(limit int) *pool {
	return &pool{limit: limit, since: make(map[*Conn]time.Time), sources: make(map[netip.Prefix]int)}
}

// add adds a connection.
func (p *pool) add(c *Conn, now time.Time) {
	p.since[c] = now
	p.sources[c.source]++
}

// remove removes a connection; one that is gone is ignored.
func (p *pool) remove(c *Conn) {
	if _, ok := p.since[c]; !ok {
		return
	}
	delete(p.since, c)
	if p.sources[c.source]--; p.sources[c.source] == 0 {
		delete(p.sources, c.source)
	}
}

// surplus returns the connection to close, nil while the limit is kept: the oldest of
// the address with the most connections, where the age of a silent one counts more.
func (p *pool) surplus(now time.Time) *Conn {
	if len(p.since) <= p.limit {
		return nil
	}
	var worst *Conn
	for c := range p.since {
		if worst == nil || cmp.Or(
			cmp.Compare(p.sources[c.source], p.sources[worst.source]),
			cmp.Compare(p.age(c, now), p.age(worst, now)),
		) > 0 {
			worst = c
		}
	}
	return worst
}

// silence is the weight of the age of a connection before its first octet. A new one,
// whose first octets are on their way, has little age.
const silence = 10

// age returns the age by which connections are displaced, in which silence weighs more.
func (p *pool) age(c *Conn, now time.Time) time.Duration {
	age := now.Sub(p.since[c])
	if c.heard.Load() == 0 {
		age *= silence
	}
	return age
}
