// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/host/etcd"

	"sluice/tests/etcdtest"
)

// The times of tests: as short as a busy machine bears.
const (
	testValidity   = 4 * time.Second
	testQuarantine = 2 * time.Second
	patience       = time.Minute
)

// patientValidity is of nodes that lose no lease on purpose: they keep it where a machine under load
// renews it late.
const patientValidity = time.Minute

// startPatient starts a node with [patientValidity] and waits for its lease.
func startPatient(tb testing.TB, name string, urls []string) *node {
	tb.Helper()
	n := runFor(tb, patientValidity, name, urls, nil)
	n.leased(tb, true)
	return n
}

// node is a Global that runs, until the test ends or it is stopped.
type node struct {
	*Global
	stop func() // returns when Run has
}

// startNode starts a node and waits for its lease.
func startNode(tb testing.TB, name string, urls []string, bend func(*Config)) *node {
	tb.Helper()
	n := runNode(tb, name, urls, bend)
	n.leased(tb, true)
	return n
}

// runNode starts a node, whose etcd may not be there.
func runNode(tb testing.TB, name string, urls []string, bend func(*Config)) *node {
	tb.Helper()
	return runFor(tb, testValidity, name, urls, bend)
}

// runFor starts a node whose lease is valid for a time.
func runFor(tb testing.TB, validity time.Duration, name string, urls []string, bend func(*Config)) *node {
	tb.Helper()
	c := Config{Config: etcd.Config{Endpoints: urls, Domain: strings.ReplaceAll(tb.Name(), "/", "_")}, Node: name, Log: logger(tb, name)}
	if bend != nil {
		bend(&c)
	}
	g, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	g.validity, g.quarantine, g.claims = validity, testQuarantine, newClaims(testQuarantine)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := g.Run(ctx); err != nil {
			tb.Errorf("node %s: %v", name, err)
		}
	}()
	n := &node{Global: g, stop: func() { cancel(); <-done }}
	tb.Cleanup(n.stop)
	return n
}

// leased waits until the node has a lease, or has lost it.
func (n *node) leased(tb testing.TB, want bool) {
	tb.Helper()
	etcdtest.Eventually(tb, patience, fmt.Sprintf("lease %v", want), func() error {
		n.mu.RLock()
		defer n.mu.RUnlock()
		if n.clock() < n.deadline != want {
			return errors.New("not so")
		}
		return nil
	})
}

func logger(tb testing.TB, name string) *slog.Logger {
	return slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})).With("node", name)
}

func testKey(n int) flow.Key {
	k := flow.Key{FlowLabel: uint32(n)&0xfffff | 1<<19, DestQP: uint32(n)}
	k.Src[0], k.Dst[0] = 0x20, 0x20
	binary.BigEndian.PutUint32(k.Dst[12:], uint32(n))
	return k
}

// allocate allocates the flows from one number to another, with some at once.
func (n *node) allocate(tb testing.TB, from, to int) map[int]uint16 {
	tb.Helper()
	var mu sync.Mutex
	got := map[int]uint16{}
	var all sync.WaitGroup
	turn := make(chan struct{}, 256)
	for i := from; i < to; i++ {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			ctx, cancel := context.WithTimeout(tb.Context(), patience)
			defer cancel()
			for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
				id, err := n.Allocate(ctx, testKey(i))
				if errors.Is(err, ErrLost) && time.Now().Before(deadline) { // it is claimed with the next lease
					continue
				}
				if err != nil {
					tb.Errorf("flow %d: %v", i, err)
					return
				}
				mu.Lock()
				got[i] = id
				mu.Unlock()
				return
			}
		})
	}
	all.Wait()
	return got
}

// settled waits until every wanted flow of the node has an id.
func (n *node) settled(tb testing.TB, held int) {
	tb.Helper()
	etcdtest.Eventually(tb, patience, "flows claimed", func() error {
		n.mu.RLock()
		valid := n.clock() < n.deadline
		n.mu.RUnlock()
		if s := n.Stats(); !valid || s.Held != held {
			return fmt.Errorf("%d of %d flows held, lease %v", s.Held, held, valid)
		}
		return nil
	})
}

// agree checks that each flow has one id on all nodes, and each id one flow, and
// that etcd says the same.
func agree(tb testing.TB, client *clientv3.Client, nodes ...*node) map[string]uint16 {
	tb.Helper()
	ids, flows := map[string]uint16{}, map[uint16]string{}
	for _, n := range nodes {
		n.mu.RLock()
		for _, f := range n.claims.byKey {
			if f.phase != held {
				continue
			}
			if other, ok := ids[f.name]; ok && other != f.id {
				tb.Errorf("flow %s has ids %d and %d", f.name, other, f.id)
			}
			if other, ok := flows[f.id]; ok && other != f.name {
				tb.Errorf("id %d has flows %s and %s", f.id, other, f.name)
			}
			ids[f.name], flows[f.id] = f.id, f.name
		}
		n.mu.RUnlock()
	}
	stand := standing(tb, client)
	for name, id := range ids {
		if stand[name] != id {
			tb.Errorf("flow %s: id %d on a node, %d in etcd", name, id, stand[name])
		}
	}
	return ids
}

// standing reads the test's domain, and checks that it holds together.
func standing(tb testing.TB, client *clientv3.Client) map[string]uint16 {
	tb.Helper()
	s := space{prefix: "/sluice/" + strings.ReplaceAll(tb.Name(), "/", "_") + "/"}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	all, err := client.Get(ctx, s.prefix, clientv3.WithPrefix())
	if err != nil {
		tb.Fatal(err)
	}
	flows, ids := map[string]uint16{}, map[string]string{} // by flow and lease
	names := map[string]uint16{}
	owner := map[uint16]string{}
	for _, kv := range all.Kvs {
		path := strings.Split(strings.TrimPrefix(string(kv.Key), s.prefix), "/")
		switch path[0] {
		case "flow":
			id, ok := idOf(string(kv.Value))
			if !ok {
				tb.Fatalf("%s = %q", kv.Key, kv.Value)
			}
			if other, ok := names[path[1]]; ok && other != id {
				tb.Errorf("in etcd flow %s has ids %d and %d", path[1], other, id)
			}
			names[path[1]] = id
			flows[path[1]+"/"+path[2]] = id
		case "id":
			id, ok := idOf(path[1])
			if !ok {
				tb.Fatalf("%s", kv.Key)
			}
			if other, ok := owner[id]; ok && other != string(kv.Value) {
				tb.Errorf("in etcd id %d has flows %s and %s", id, other, kv.Value)
			}
			owner[id] = string(kv.Value)
			ids[string(kv.Value)+"/"+path[2]] = path[1]
		}
	}
	for ref, id := range flows {
		if ids[ref] != text(id) {
			tb.Errorf("in etcd %s has id %d, and the id has it not (%q)", ref, id, ids[ref])
		}
	}
	if len(flows) != len(ids) {
		tb.Errorf("in etcd are %d references to ids and %d back", len(flows), len(ids))
	}
	return names
}
