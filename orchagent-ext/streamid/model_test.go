package streamid

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/orchagent-ext/flow"
)

// world is the nodes of a domain, and what they believed so far.
type world struct {
	tb    testing.TB
	etcd  *fakeEtcd
	ways  []*bad
	keys  []flow.Key
	until time.Time // then all is well again

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

// rates are how the nodes' clocks run: no two alike, the fastest and the slowest
// apart by slack in the 15 s of a lease.
var rates = []float64{0.998, 0.9995, 1.0005, 1.002}

const slack = 60 * time.Millisecond

// check holds the rule: at no instant do two nodes that believe themselves valid
// use one id for two flows, or two ids for one flow; and an id goes on to
// another flow only behind the quarantine.
func (w *world) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, ids := time.Now(), map[string]uint16{}
	for i, g := range w.nodes {
		g.mu.RLock()
		for _, f := range g.claims.byKey {
			if f.phase != held || g.clock() >= g.deadline {
				continue
			}
			w.seen++
			if id, ok := ids[f.name]; ok && id != f.id && !w.tb.Failed() {
				w.tb.Errorf("at %s on node %d: flow %s has id %d, and %d elsewhere", now, i, f.name, f.id, id)
			}
			ids[f.name] = f.id
			if b, ok := w.last[f.id]; ok && b.flow != f.name {
				w.moved++
				if now.Sub(b.at) < Quarantine-slack && !w.tb.Failed() {
					w.tb.Errorf("at %s on node %d: id %d has flow %s, %s after %s", now, i, f.id, f.name, now.Sub(b.at), b.flow)
				}
			}
			w.last[f.id] = belief{f.name, now}
		}
		g.mu.RUnlock()
	}
}

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
			sleep(ctx, pause)
		}
	}()
	return func() { cancel(); <-done }
}

// boot starts node i anew: it knows nothing of before.
func (w *world) boot(i int) (stop func()) {
	begin := time.Now()
	g := newGlobal(Config{}, Validity, Quarantine, func() time.Duration {
		return time.Duration(float64(time.Since(begin)) * rates[i])
	})
	w.mu.Lock()
	w.nodes[i] = g
	w.mu.Unlock()
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
func TestNoTwoFlowsShareAnID(t *testing.T) {
	var seen, moved int
	var sum Stats
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{
					tb: t, etcd: newFakeEtcd(t), keys: rivals(24, 8), until: time.Now().Add(5 * time.Minute),
					nodes: make([]*Global, len(rates)), last: map[uint16]belief{},
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
				if left := w.etcd.between([]byte("/sluice/default/"), []byte("/sluice/default/node/")); len(left) != 0 {
					t.Errorf("nobody uses %d references that are left, like %s", len(left), left[0].GetKey())
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
