// SPDX-License-Identifier: Apache-2.0

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

	"sluice/orchagent-ext/flows/flow"

	"sluice/tests/etcdtest"
	"sluice/tests/racetest"
)

// TestNodesShareRealEtcd holds nodes against a real etcd of three members, each test in a
// domain of its own.
func TestNodesShareRealEtcd(t *testing.T) {
	t.Parallel() // it waits most of its time
	c := etcdtest.Start(t, 3, "http")
	run := func(name string, test func(*testing.T, *etcdtest.Cluster)) {
		t.Run(name, func(t *testing.T) {
			inner := *c
			inner.TB = t
			test(t, &inner)
		})
	}
	run("fake", conform)
	var waiting sync.WaitGroup // these wait for most of the time: at once, and not only as many as processors
	for name, test := range map[string]func(*testing.T, *etcdtest.Cluster){
		"node dies": nodeDies, "partition": partition, "revoked": revoked, "keys deleted": keysDeleted, "references deleted": referencesDeleted, "release": release,
	} {
		waiting.Go(func() { run(name, test) })
	}
	waiting.Wait()
	run("many nodes", manyNodes)
	run("resync", resync)
	run("full", full)
}

func manyNodes(t *testing.T, c *etcdtest.Cluster) {
	const nodes, flows = 5, 2000 // half of a node's flows are its own
	var all []*node
	for i := range nodes {
		all = append(all, startPatient(t, fmt.Sprint("n", i), c.URLs()))
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
	ids := agree(t, c.Client, all...)
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

func resync(t *testing.T, c *etcdtest.Cluster) {
	flows := racetest.Rounds(10_000, 2000)
	n := startPatient(t, "n", c.URLs())
	began := time.Now()
	for i := range flows {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the flow is still wanted
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
	if _, err := c.Client.Revoke(t.Context(), n.leaseID(t, c)); err != nil {
		t.Fatal(err)
	}
	etcdtest.Eventually(t, patience, "the loss is noticed", func() error {
		if n.Stats().Lost == lost {
			return errors.New("not yet")
		}
		return nil
	})
	began = time.Now()
	n.settled(t, flows)
	took := time.Since(began)
	t.Logf("%d flows: claimed first in %s, again behind a loss in %s", flows, first.Round(time.Millisecond), took.Round(time.Millisecond))
	for name, id := range agree(t, c.Client, n) {
		if ids[name] != id {
			t.Errorf("flow %s has id %d, want %d as before", name, id, ids[name])
		}
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
func full(t *testing.T, c *etcdtest.Cluster) {
	n := startPatient(t, "n", c.URLs())
	s := space{prefix: "/sluice/" + n.config.Domain + "/", lease: 0xf0f0}
	var writers errgroup.Group
	writers.SetLimit(16)
	for ids := range slices.Chunk(allIDs(), 128) {
		writers.Go(func() error {
			var ops []clientv3.Op
			for _, id := range ids {
				ops = append(ops, clientv3.OpPut(s.ref(s.ids(id)), "x"))
			}
			for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
				_, err := c.Client.Do(t.Context(), clientv3.OpTxn(nil, ops, nil))
				if err == nil || time.Now().After(deadline) { // members elect a leader again where a machine under load holds one up
					return err
				}
			}
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
	if _, err := c.Client.Delete(t.Context(), s.ref(s.ids(54321))); err != nil {
		t.Fatal(err)
	}
	if id := n.must(t, testKey(1)); id != 54321 {
		t.Errorf("id %d, want the only one that is free", id)
	}
	t.Logf("a full domain is known after %s", took.Round(time.Millisecond))
}
