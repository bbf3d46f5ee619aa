package streamid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/flow"
)

// TestEtcd holds nodes against a real etcd of three members, each test in a
// domain of its own.
func TestEtcd(t *testing.T) {
	c := startCluster(t, 3, "http")
	run := func(name string, test func(*testing.T, *cluster)) {
		t.Run(name, func(t *testing.T) {
			inner := *c
			inner.tb = t
			test(t, &inner)
		})
	}
	run("fake", conform)
	var waiting sync.WaitGroup // these wait for most of the time: at once, and not only as many as processors
	for name, test := range map[string]func(*testing.T, *cluster){
		"node dies": nodeDies, "partition": partition, "revoked": revoked, "keys deleted": keysDeleted, "release": release,
	} {
		waiting.Go(func() { run(name, test) })
	}
	waiting.Wait()
	run("many nodes", manyNodes)
	run("resync", resync)
	run("full", full)
}

func manyNodes(t *testing.T, c *cluster) {
	const nodes, flows = 5, 2000 // half of a node's flows are its own
	var all []*node
	for i := range nodes {
		all = append(all, startNode(t, fmt.Sprint("n", i), c.urls(), nil))
	}
	watch(t, all...)
	began := time.Now()
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() { n.allocate(t, 0, flows/2) })
		wg.Go(func() { n.allocate(t, (i+1)*flows, (i+1)*flows+flows/2) })
	}
	wg.Wait()
	took := time.Since(began)
	for _, n := range all {
		n.settled(t, flows)
	}
	ids := agree(t, c.client, all...)
	if want := flows/2 + nodes*flows/2; len(ids) != want {
		t.Errorf("%d flows have ids, want %d", len(ids), want)
	}
	var sum Stats
	for _, n := range all {
		s := n.Stats()
		sum.Transactions, sum.Taken, sum.Lost = sum.Transactions+s.Transactions, sum.Taken+s.Taken, sum.Lost+s.Lost
	}
	t.Logf("%d nodes allocated %d ids for %d flows each in %s: %d transactions, %d ids found taken, %d leases lost",
		nodes, len(ids), flows, took.Round(time.Millisecond), sum.Transactions, sum.Taken, sum.Lost)
}

// rivalsFor returns two flows that want the same id first.
func rivalsFor(t *testing.T) (a, b flow.Key) {
	t.Helper()
	keys := rivals(2, 1)
	if ByFlowLabel.first(0, &keys[0]) != ByFlowLabel.first(0, &keys[1]) {
		t.Fatal("no rivals")
	}
	return keys[0], keys[1]
}

func (n *node) must(t *testing.T, k flow.Key) uint16 {
	t.Helper()
	var id uint16
	eventually(t, patience, "an id for "+k.String(), func() (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		id, err = n.Allocate(ctx, k)
		return err
	})
	return id
}

// nodeDies: the ids of a node that is there no more are free when its lease and
// the quarantine are over, and not before.
func nodeDies(t *testing.T, c *cluster) {
	mine, rival := rivalsFor(t)
	a := startNode(t, "a", c.urls(), nil)
	b := startNode(t, "b", c.urls(), nil)
	watch(t, a, b)
	id := a.must(t, mine)
	shared := a.must(t, testKey(7))
	if got := b.must(t, testKey(7)); got != shared {
		t.Errorf("a shared flow has ids %d and %d", shared, got)
	}
	a.stop() // sends nothing
	dead := time.Now()
	if got := b.must(t, rival); got == id {
		t.Errorf("id %d of a dead node went on at once", got)
	}
	name := ByFlowLabel.name(&mine)
	eventually(t, patience, "the dead node's reference goes", func() error {
		if standing(t, c.client)[name] != 0 {
			return errors.New("it stands")
		}
		return nil
	})
	took := time.Since(dead)
	if took < testQuarantine {
		t.Errorf("freed after %s, within the quarantine", took)
	}
	t.Logf("the id of a dead node is free after %s; its lease is of %s", took.Round(10*time.Millisecond), testValidity+testQuarantine)
	b.Release(rival)
	eventually(t, patience, "the rival's reference goes", func() error {
		if s := b.Stats(); s.Leaving != 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if got := b.must(t, rival); got != id {
		t.Errorf("id %d, want %d, which is free", got, id)
	}
	if got := b.must(t, testKey(7)); got != shared {
		t.Errorf("the shared flow has id %d, want %d as before", got, shared)
	}
	agree(t, c.client, b)
}

// partition: a node that does not reach etcd says so before etcd frees its ids;
// others take them over; back again, it learns of that.
func partition(t *testing.T, c *cluster) {
	var way []*proxy
	var urls []string
	for _, m := range c.members {
		p := startProxy(t, m.url)
		way, urls = append(way, p), append(urls, p.url())
	}
	mine, rival := rivalsFor(t)
	changes, leases := make(chan Change, 10), make(chan bool, 10)
	a := startNode(t, "a", urls, func(c *Config) {
		c.Changed = func(ch Change) { changes <- ch }
		c.Lease = func(valid bool) { leases <- valid }
	})
	b := startNode(t, "b", c.urls(), nil)
	watch(t, a, b)
	id, shared := a.must(t, mine), a.must(t, testKey(9))
	b.must(t, testKey(9))
	for len(leases) > 0 {
		<-leases
	}
	for _, p := range way {
		p.set(true)
	}
	cut := time.Now()
	eventually(t, patience, "the node says that it lost", func() error {
		if _, ok := a.ID(mine); ok || a.Valid(id) {
			return errors.New("its id is valid")
		}
		return nil
	})
	lost := time.Since(cut)
	if standing(t, c.client)[ByFlowLabel.name(&mine)] != id {
		t.Error("etcd freed the id before the node said that it lost")
	}
	if _, err := a.Allocate(t.Context(), mine); !errors.Is(err, ErrLost) {
		t.Errorf("allocated while lost: %v", err)
	}
	if valid := <-leases; valid {
		t.Error("told of a lease, not of the loss")
	}
	if got := b.must(t, rival); got == id {
		t.Errorf("id %d was taken over at once", id)
	}
	b.Release(rival)
	eventually(t, patience, "etcd frees the id", func() error {
		if standing(t, c.client)[ByFlowLabel.name(&mine)] != 0 || b.Stats().Leaving != 0 {
			return errors.New("it stands")
		}
		return nil
	})
	freed := time.Since(cut)
	if got := b.must(t, rival); got != id {
		t.Errorf("id %d, want %d, which is free", got, id)
	}
	for _, p := range way {
		p.set(false)
	}
	a.settled(t, 2)
	got := <-changes
	now, _ := a.ID(mine)
	if want := (Change{Key: mine, Old: id, New: now}); got != want || now == id {
		t.Errorf("told %+v, want %+v", got, want)
	}
	if got := a.must(t, testKey(9)); got != shared {
		t.Errorf("the shared flow has id %d, want %d as before", got, shared)
	}
	agree(t, c.client, a, b)
	t.Logf("partition: lost after %s, freed after %s", lost.Round(10*time.Millisecond), freed.Round(10*time.Millisecond))
}

func (n *node) leaseID(t *testing.T, c *cluster) clientv3.LeaseID {
	t.Helper()
	answer, err := c.client.Get(t.Context(), "/sluice/"+n.config.Domain+"/node/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range slices.Backward(answer.Kvs) {
		if string(kv.Value) == n.config.Node {
			return clientv3.LeaseID(kv.Lease)
		}
	}
	t.Fatalf("node %s is not in etcd", n.config.Node)
	return 0
}

// back breaks the node's lease and waits until it has noticed and has another.
func (n *node) back(t *testing.T, held int, breakIt func()) (took time.Duration) {
	t.Helper()
	before := n.Stats().Lost
	breakIt()
	began := time.Now()
	eventually(t, patience, "the loss is noticed", func() error {
		if n.Stats().Lost == before {
			return errors.New("not yet")
		}
		return nil
	})
	took = time.Since(began)
	n.settled(t, held)
	return took
}

func revoked(t *testing.T, c *cluster) {
	n := startNode(t, "n", c.urls(), nil)
	before := n.allocate(t, 0, 50)
	took := n.back(t, 50, func() {
		if _, err := c.client.Revoke(t.Context(), n.leaseID(t, c)); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("noticed after %s", took.Round(10*time.Millisecond))
	same(t, before, n.allocate(t, 0, 50))
	agree(t, c.client, n)
}

func keysDeleted(t *testing.T, c *cluster) {
	n := startNode(t, "n", c.urls(), nil)
	before := n.allocate(t, 0, 50)
	took := n.back(t, 50, func() {
		if _, err := c.client.Delete(t.Context(), "/sluice/"+n.config.Domain+"/", clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("noticed after %s", took.Round(10*time.Millisecond))
	same(t, before, n.allocate(t, 0, 50))
	agree(t, c.client, n)
}

func same(t *testing.T, want, got map[int]uint16) {
	t.Helper()
	for i, id := range want {
		if got[i] != id {
			t.Errorf("flow %d has id %d, want %d as before", i, got[i], id)
		}
	}
}

func resync(t *testing.T, c *cluster) {
	const flows = 10_000
	n := startNode(t, "n", c.urls(), nil)
	began := time.Now()
	for i := range flows {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the wish stands
		if _, err := n.Allocate(ctx, testKey(i)); err == nil {
			t.Errorf("flow %d has an id without waiting", i)
		}
	}
	n.settled(t, flows)
	first := time.Since(began)
	n.mu.RLock()
	ids := map[string]uint16{}
	for name, f := range n.claims.byName {
		ids[name] = f.id
	}
	n.mu.RUnlock()
	lost := n.Stats().Lost
	if _, err := c.client.Revoke(t.Context(), n.leaseID(t, c)); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "the loss is noticed", func() error {
		if n.Stats().Lost == lost {
			return errors.New("not yet")
		}
		return nil
	})
	began = time.Now()
	n.settled(t, flows)
	took := time.Since(began)
	t.Logf("%d flows: claimed first in %s, again behind a loss in %s", flows, first.Round(time.Millisecond), took.Round(time.Millisecond))
	if took > 30*time.Second {
		t.Errorf("resync took %s", took)
	}
	for name, id := range agree(t, c.client, n) {
		if ids[name] != id {
			t.Errorf("flow %s has id %d, want %d as before", name, id, ids[name])
		}
	}
}

// release: of two users the last frees the flow, and the quarantine is kept.
func release(t *testing.T, c *cluster) {
	n := startNode(t, "n", c.urls(), nil)
	k, other := testKey(1), testKey(1)
	other.DestQP = 99 // the same flow
	id := n.must(t, k)
	if got := n.must(t, other); got != id {
		t.Errorf("one flow has ids %d and %d", id, got)
	}
	name := ByFlowLabel.name(&k)
	n.Release(k)
	if _, ok := n.ID(k); ok {
		t.Error("a released key has an id")
	}
	if got, ok := n.ID(other); !ok || got != id {
		t.Errorf("the other user has id %d %v, want %d", got, ok, id)
	}
	n.Release(other)
	released := time.Now()
	if n.Valid(id) {
		t.Error("a released id is valid")
	}
	eventually(t, patience, "the reference goes", func() error {
		if standing(t, c.client)[name] != 0 {
			return errors.New("it stands")
		}
		return nil
	})
	if took := time.Since(released); took < testQuarantine {
		t.Errorf("freed after %s, within the quarantine", took)
	}
}

func allIDs() (ids []uint16) {
	for id := uint16(1); id != 0; id++ {
		ids = append(ids, id)
	}
	return ids
}

// full: when the domain's ids are all in use, a new flow is refused, and a flow
// that is released makes room.
func full(t *testing.T, c *cluster) {
	n := startNode(t, "n", c.urls(), nil)
	s := space{prefix: "/sluice/" + n.config.Domain + "/", lease: 0xf0f0}
	var writers errgroup.Group
	writers.SetLimit(16)
	for ids := range slices.Chunk(allIDs(), 128) {
		writers.Go(func() error {
			var ops []clientv3.Op
			for _, id := range ids {
				ops = append(ops, clientv3.OpPut(s.ref(s.ids(id)), "x"))
			}
			_, err := c.client.Do(t.Context(), clientv3.OpTxn(nil, ops, nil))
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for {
		_, err := n.Allocate(t.Context(), testKey(1))
		if errors.Is(err, flow.ErrNoStreamID) {
			break
		}
		if !errors.Is(err, ErrLost) { // a busy machine
			t.Fatalf("in a full domain: %v", err)
		}
	}
	took := time.Since(began)
	if s := n.Stats(); s.Wanted != 0 || s.Full == 0 {
		t.Errorf("%+v", s)
	}
	if _, err := c.client.Delete(t.Context(), s.ref(s.ids(54321))); err != nil {
		t.Fatal(err)
	}
	if id := n.must(t, testKey(1)); id != 54321 {
		t.Errorf("id %d, want the only one that is free", id)
	}
	t.Logf("a full domain is known after %s", took.Round(time.Millisecond))
}
