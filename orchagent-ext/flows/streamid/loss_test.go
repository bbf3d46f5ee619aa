// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/orchagent-ext/flows/flow"

	"sluice/tests/etcdtest"
)

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
	etcdtest.Eventually(t, patience, "an id for "+k.String(), func() (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		id, err = n.Allocate(ctx, k)
		return err
	})
	return id
}

// nodeDies: the ids of a node that is there no more are free when its lease and
// the quarantine are over, and not before.
func nodeDies(t *testing.T, c *etcdtest.Cluster) {
	mine, rival := rivalsFor(t)
	a := startNode(t, "a", c.URLs(), nil)
	b := startNode(t, "b", c.URLs(), nil)
	watch(t, a, b)
	id := a.must(t, mine)
	shared := a.must(t, testKey(7))
	if got := b.must(t, testKey(7)); got != shared {
		t.Errorf("a shared flow has ids %d and %d", shared, got)
	}
	dead := time.Now()
	a.stop() // sends nothing
	// Later it is free.
	if got := b.must(t, rival); got == id && time.Since(dead) < testQuarantine {
		t.Errorf("id %d of a dead node went on at once", got)
	}
	name := ByFlowLabel.name(&mine)
	etcdtest.Eventually(t, patience, "the dead node's reference goes", func() error {
		if standing(t, c.Client)[name] != 0 {
			return errors.New("it is still there")
		}
		return nil
	})
	took := time.Since(dead)
	if took < testQuarantine {
		t.Errorf("freed after %s, within the quarantine", took)
	}
	t.Logf("the id of a dead node is free after %s; its lease is of %s", took.Round(10*time.Millisecond), testValidity+testQuarantine)
	b.Release(rival)
	etcdtest.Eventually(t, patience, "the rival's reference goes", func() error {
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
	agree(t, c.Client, b)
}

// partition: a node that does not reach etcd says so before etcd frees its ids;
// others take them over; back again, it learns of that.
func partition(t *testing.T, c *etcdtest.Cluster) {
	var way []*etcdtest.Proxy
	var urls []string
	for _, m := range c.Members {
		p := etcdtest.StartProxy(t, m.URL)
		way, urls = append(way, p), append(urls, p.URL())
	}
	mine, rival := rivalsFor(t)
	changes, leases := make(chan Change, 10), make(chan bool, 10)
	a := startNode(t, "a", urls, func(c *Config) {
		c.Changed = func(ch Change) { changes <- ch }
		c.Lease = func(valid bool) { leases <- valid }
	})
	b := startNode(t, "b", c.URLs(), nil)
	watch(t, a, b)
	id, shared := a.must(t, mine), a.must(t, testKey(9))
	b.must(t, testKey(9))
	for len(leases) > 0 {
		<-leases
	}
	cut := time.Now()
	for _, p := range way {
		p.Cut(true)
	}
	etcdtest.Eventually(t, patience, "the node says that it lost", func() error {
		there := standing(t, c.Client)[ByFlowLabel.name(&mine)] == id
		if _, ok := a.ID(mine); !ok && !a.Valid(id) {
			return nil
		}
		if !there {
			t.Error("etcd freed the id before the node said that it lost")
		}
		return errors.New("its id is valid")
	})
	lost := time.Since(cut)
	if _, err := a.Allocate(t.Context(), mine); !errors.Is(err, ErrLost) {
		t.Errorf("allocated while lost: %v", err)
	}
	if valid := <-leases; valid {
		t.Error("told of a lease, not of the loss")
	}
	if got := b.must(t, rival); got == id && time.Since(cut) < testQuarantine {
		t.Errorf("id %d was taken over at once", id)
	}
	b.Release(rival)
	etcdtest.Eventually(t, patience, "etcd frees the id", func() error {
		if standing(t, c.Client)[ByFlowLabel.name(&mine)] != 0 || b.Stats().Leaving != 0 {
			return errors.New("it is still there")
		}
		return nil
	})
	freed := time.Since(cut)
	if got := b.must(t, rival); got != id {
		t.Errorf("id %d, want %d, which is free", got, id)
	}
	for _, p := range way {
		p.Cut(false)
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
	agree(t, c.Client, a, b)
	t.Logf("partition: lost after %s, freed after %s", lost.Round(10*time.Millisecond), freed.Round(10*time.Millisecond))
}

func (n *node) leaseID(t *testing.T, c *etcdtest.Cluster) clientv3.LeaseID {
	t.Helper()
	answer, err := c.Client.Get(t.Context(), "/sluice/"+n.config.Domain+"/node/", clientv3.WithPrefix())
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
	etcdtest.Eventually(t, patience, "the loss is noticed", func() error {
		if n.Stats().Lost == before {
			return errors.New("not yet")
		}
		return nil
	})
	took = time.Since(began)
	n.settled(t, held)
	return took
}

func revoked(t *testing.T, c *etcdtest.Cluster) {
	n := startNode(t, "n", c.URLs(), nil)
	before := n.allocate(t, 0, 50)
	took := n.back(t, 50, func() {
		if _, err := c.Client.Revoke(t.Context(), n.leaseID(t, c)); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("noticed after %s", took.Round(10*time.Millisecond))
	same(t, before, n.allocate(t, 0, 50))
	agree(t, c.Client, n)
}

func keysDeleted(t *testing.T, c *etcdtest.Cluster) {
	n := startNode(t, "n", c.URLs(), nil)
	before := n.allocate(t, 0, 50)
	took := n.back(t, 50, func() {
		if _, err := c.Client.Delete(t.Context(), "/sluice/"+n.config.Domain+"/", clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("noticed after %s", took.Round(10*time.Millisecond))
	same(t, before, n.allocate(t, 0, 50))
	agree(t, c.Client, n)
}

// referencesDeleted: another program deletes one reference, in either direction, and
// leaves the node's key.
func referencesDeleted(t *testing.T, c *etcdtest.Cluster) {
	n := startNode(t, "n", c.URLs(), nil)
	before := n.allocate(t, 0, 50)
	for _, direction := range []string{"flow", "id"} {
		took := n.back(t, 50, func() {
			answer, err := c.Client.Get(t.Context(), "/sluice/"+n.config.Domain+"/"+direction+"/", clientv3.WithPrefix())
			if err != nil || len(answer.Kvs) == 0 {
				t.Fatalf("%v, %v", answer, err)
			}
			if _, err := c.Client.Delete(t.Context(), string(answer.Kvs[0].Key)); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: noticed after %s", direction, took.Round(10*time.Millisecond))
		etcdtest.Eventually(t, patience, "the lease before is over", func() error {
			answer, err := c.Client.Get(t.Context(), "/sluice/"+n.config.Domain+"/node/", clientv3.WithPrefix())
			if err == nil && len(answer.Kvs) > 1 {
				err = fmt.Errorf("%d nodes", len(answer.Kvs))
			}
			return err
		})
	}
	moved := 0 // the flow whose id the other direction still names cannot have it
	for i, id := range n.allocate(t, 0, 50) {
		if id != before[i] {
			moved++
		}
	}
	if moved > 1 {
		t.Errorf("%d flows have another id, and the reference of one was deleted", moved)
	}
	agree(t, c.Client, n)
}

func same(t *testing.T, want, got map[int]uint16) {
	t.Helper()
	for i, id := range want {
		if got[i] != id {
			t.Errorf("flow %d has id %d, want %d as before", i, got[i], id)
		}
	}
}

// release: of two users the last frees the flow, and the quarantine is kept.
func release(t *testing.T, c *etcdtest.Cluster) {
	n := startNode(t, "n", c.URLs(), nil)
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
	released := time.Now()
	n.Release(other)
	if n.Valid(id) {
		t.Error("a released id is valid")
	}
	etcdtest.Eventually(t, patience, "the reference goes", func() error {
		if standing(t, c.Client)[name] != 0 {
			return errors.New("it is still there")
		}
		return nil
	})
	if took := time.Since(released); took < testQuarantine {
		t.Errorf("freed after %s, within the quarantine", took)
	}
}
