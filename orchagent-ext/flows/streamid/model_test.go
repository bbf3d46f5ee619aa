// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/host/clock"
)

// world is the nodes of a domain, their etcd, and their ways to it.
type world struct {
	beliefs
	etcd  *fakeEtcd
	ways  []*bad
	keys  []flow.Key
	until time.Time // then all is well again
}

// rates are how the nodes' clocks run: no two alike, the fastest and the slowest
// apart by slack in the 15 s of a lease.
var rates = []float64{0.998, 0.9995, 1.0005, 1.002}

const slack = 60 * time.Millisecond

// rivals are keys of flows that want the same few ids.
func rivals(n, ids int) (keys []flow.Key) {
	for label := uint32(1); len(keys) < n; label++ {
		k := flow.Key{FlowLabel: label}
		k.Src[0], k.Dst[0] = 0x20, 0x20
		if int(ByFlowLabel.first(0, &k)) <= ids {
			keys = append(keys, k)
		}
	}
	return keys
}

// serve does what [Global.Run] does, with another etcd, until it is stopped.
func serve(g *Global, to store) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			g.session(ctx, to) //nolint:errcheck // the next one follows
			clock.Sleep(ctx, pause)
		}
	}()
	return func() { cancel(); <-done }
}

// boot restarts node i without its state.
func (w *world) boot(i int) (stop func()) {
	begin := time.Now()
	g := newGlobal(Config{}, Validity, Quarantine, func() time.Duration {
		return time.Duration(float64(time.Since(begin)) * rates[i])
	})
	w.set(i, g)
	return serve(g, w.ways[i])
}

// live lets node i want and release flows, lose its way to etcd and crash. What
// it returns ends the node.
func (w *world) live(i int, r *rand.Rand) (stop func()) {
	upTo := func(ms int) time.Duration { return time.Duration(r.IntN(ms)) * time.Millisecond }
	stop = w.boot(i)
	for time.Now().Before(w.until) {
		time.Sleep(upTo(2000))
		w.check()
		g, k := w.nodes[i], w.keys[r.IntN(len(w.keys))]
		switch n := r.IntN(100); {
		case n < 50:
			ctx, cancel := context.WithTimeout(context.Background(), upTo(3000))
			if id, err := g.Allocate(ctx, k); err == nil && id == 0 {
				w.tb.Errorf("node %d: %s has id 0", i, k)
			}
			cancel()
		case n < 90:
			g.Release(k)
		case n < 96:
			w.ways[i].cut(!w.ways[i].down)
		default:
			stop()
			time.Sleep(upTo(20_000))
			stop = w.boot(i)
		}
		w.check()
	}
	return stop
}

// calm lets every request through, and waits until that shows.
func (w *world) calm() {
	for _, b := range w.ways {
		b.heal()
	}
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		w.check()
	}
}

// TestNoTwoFlowsShareAnID lets nodes run against an etcd to which requests are
// lost, come late and come twice, on simulated time.
//
//conformance:draft-yang/allocate
func TestNoTwoFlowsShareAnID(t *testing.T) {
	var seen, moved int
	var sum Stats
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{
					beliefs: beliefs{tb: t, quarantine: Quarantine - slack, nodes: make([]*Global, len(rates)), last: map[uint16]belief{}},
					etcd:    newFakeEtcd(t), keys: rivals(24, 8), until: time.Now().Add(5 * time.Minute),
				}
				stops := make([]func(), len(rates))
				for i := range rates {
					w.nodes[i] = newGlobal(Config{}, Validity, Quarantine, func() time.Duration { return 0 })
					w.ways = append(w.ways, &bad{fakeEtcd: w.etcd, check: w.check, rand: rand.New(rand.NewPCG(seed, uint64(i)))})
				}
				var all sync.WaitGroup
				for i := range rates {
					all.Go(func() { stops[i] = w.live(i, rand.New(rand.NewPCG(seed, uint64(100+i)))) })
				}
				all.Wait()
				w.calm()
				for i, g := range w.nodes {
					s := g.Stats()
					sum.Unknown, sum.Lost = sum.Unknown+s.Unknown, sum.Lost+s.Lost
					if s.Wanted != 0 {
						t.Errorf("node %d: %+v when all is well again", i, s)
					}
					for _, k := range w.keys {
						g.Release(k)
					}
				}
				time.Sleep(2 * Quarantine)
				if left := w.etcd.standing("/sluice/default/", "/sluice/default/node/"); len(left) != 0 {
					t.Errorf("%d unused references are left, like %s", len(left), left[0])
				}
				for _, stop := range stops {
					stop()
				}
				time.Sleep(time.Minute) // what is still on its way ends
				seen, moved = seen+w.seen, moved+w.moved
			})
		})
	}
	t.Logf("%d beliefs looked at, %d ids went on to another flow; the last nodes missed %d answers and lost %d leases", seen, moved, sum.Unknown, sum.Lost)
	if moved == 0 || sum.Unknown == 0 || sum.Lost == 0 {
		t.Error("the nodes were not put to the test")
	}
}
