// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"sync"
	"testing"
	"time"
)

// beliefs is what the nodes of a domain believe, and believed so far.
type beliefs struct {
	tb         testing.TB
	quarantine time.Duration // less by how much the clocks of the nodes may run apart

	mu    sync.Mutex
	nodes []*Global
	last  map[uint16]belief
	seen  int // beliefs looked at
	moved int // ids that went on to another flow
}

type belief struct {
	flow string
	at   time.Time
}

// set makes g node i.
func (b *beliefs) set(i int, g *Global) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes[i] = g
}

// check holds the rule: at no instant do two nodes that believe themselves valid
// use one id for two flows, or two ids for one flow; and an id goes on to
// another flow only behind the quarantine.
func (b *beliefs) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	// A moment for all: what one node learns meanwhile, another may have lost.
	for _, g := range b.nodes {
		g.mu.RLock()
		defer g.mu.RUnlock()
	}
	now, ids := time.Now(), map[string]uint16{}
	for i, g := range b.nodes {
		if g.clock() >= g.deadline {
			continue
		}
		for _, f := range g.claims.byName {
			if f.phase != held {
				continue
			}
			b.seen++
			if id, ok := ids[f.name]; ok && id != f.id && !b.tb.Failed() {
				b.tb.Errorf("at %s on node %d: flow %s has id %d, and %d elsewhere", now, i, f.name, f.id, id)
			}
			ids[f.name] = f.id
			if was, ok := b.last[f.id]; ok && was.flow != f.name {
				b.moved++
				if now.Sub(was.at) < b.quarantine && !b.tb.Failed() {
					b.tb.Errorf("at %s on node %d: id %d has flow %s, %s after %s", now, i, f.id, f.name, now.Sub(was.at), was.flow)
				}
			}
			b.last[f.id] = belief{f.name, now}
		}
	}
}

// watch checks what nodes on a real etcd believe, again and again until the test
// ends. The machine may be slow to look.
func watch(tb testing.TB, nodes ...*node) {
	b := &beliefs{tb: tb, quarantine: testQuarantine - time.Second/2, last: map[uint16]belief{}}
	for _, n := range nodes {
		b.nodes = append(b.nodes, n.Global)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(50 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				b.check()
			case <-stop:
				return
			}
		}
	}()
	b.tb.Cleanup(func() {
		close(stop)
		<-done
		b.tb.Logf("%d beliefs looked at, %d ids went on to another flow", b.seen, b.moved)
	})
}
