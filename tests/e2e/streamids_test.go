// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/streamid"
)

// TestStreamIDs: flows carry ids of scope hash, and of scope local without a
// restart; these stay over a kill.
//
//conformance:draft-yang/allocate
func TestStreamIDs(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start(rewriting...)
	l.enable()
	flows := append(qps(0x100, 20), colliding(t, 0x1000, hashed(0, 0x100), 0x100))
	l.learn(flows...)
	for qp, id := range l.awaitIDs("hash", count(21)) {
		if id != hashed(0, qp) {
			t.Errorf("queue pair %#x has id %d, want %d", qp, id, hashed(0, qp))
		}
	}
	l.awaitFields("SLUICE_STATE", "global", "stream_ids", "hash", "state", "running")
	l.awaitCounts("stream_id_flows", "21", "stream_id_waiting", "0", "stream_id_conflicts", "2", "stream_id_allocated", "21")

	l.set("SLUICE", "global", "stream_id_seed", "7")
	l.awaitIDs("another seed", func(ids map[uint32]uint16) bool { return ids[0x100] == hashed(7, 0x100) })

	l.set("SLUICE", "global", "stream_id_scope", "local")
	l.awaitFields("SLUICE_STATE", "global", "stream_ids", "local")
	local := l.awaitIDs("local", func(ids map[uint32]uint16) bool {
		seen := map[uint16]bool{}
		for _, id := range ids {
			seen[id] = true
		}
		return len(ids) == 21 && len(seen) == 21
	})
	l.awaitCounts("stream_id_conflicts", "0")
	l.killed("SLUICE_STATE")
	l.launch(rewriting...)
	l.awaitFields("SLUICE_STATE", "global", "stream_ids", "local", "flows", "21")
	l.learn(qps(0x200, 5)...)
	l.awaitIDs("behind a kill", func(ids map[uint32]uint16) bool {
		seen := map[uint16]bool{}
		for qp, id := range ids {
			if was, ok := local[qp]; ok && was != id {
				t.Fatalf("queue pair %#x had id %d, and has %d", qp, was, id)
			}
			seen[id] = true
		}
		return len(ids) == 26 && len(seen) == 26
	})

	l.set("SLUICE", "global", "stream_id_scope", "local", "classification", "5-tuple")
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["stream_ids"] == "none" && strings.Contains(f["warnings"], "stream ids: classification is 5-tuple")
	})
	l.awaitIDs("5-tuple", count(0))
}

// TestStreamIDsOfADomain: two nodes of a domain never have one id for two flows, nor
// two for one: while etcd is away and comes back, when a node is killed and comes
// back, and when it does not come back in time.
func TestStreamIDsOfADomain(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	one, two := newLeaf(t), newLeaf(t)
	m, endpoints := newManagement(t, one, two)
	for i, l := range []*leaf{one, two} {
		l.set("SLUICE", "global", "stream_id_scope", "global", "etcd_endpoints@", endpoints[i], "stream_id_domain", "pod-7")
		l.start(rewriting...)
		l.enable()
		l.awaitFields("SLUICE_STATE", "global", "stream_ids", "global")
	}
	const f = 0x100 // of node one alone
	x := colliding(t, 0x1000, hashed(0, f), f)
	y := colliding(t, x, hashed(0, f), f, x)
	shared := qps(0x200, 20)
	one.learn(append(qps(f, 20), shared...)...)
	two.learn(append(qps(0x300, 20), shared...)...)
	idsOne, idsTwo := one.awaitIDs("node one", count(40)), two.awaitIDs("node two", count(40))
	disjoint(t, idsOne, idsTwo)
	for _, qp := range shared {
		if idsOne[qp] != idsTwo[qp] || idsOne[qp] == 0 {
			t.Errorf("queue pair %#x is %d on one node and %d on the other", qp, idsOne[qp], idsTwo[qp])
		}
	}
	if idsOne[f] != hashed(0, f) {
		t.Errorf("the first flow has id %d, want %d, which was free", idsOne[f], hashed(0, f))
	}
	one.awaitCounts("stream_id_flows", "40", "stream_id_waiting", "0", "stream_id_allocated", "40", "stream_id_leases_lost", "0")

	// etcd dies: flows go on without an id, and get theirs again when it is back.
	m.etcd.Kill()
	for _, l := range []*leaf{one, two} {
		l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
			return f["stream_ids"] == "none" && f["state"] == "degraded" && strings.Contains(f["warnings"], "stream ids: "+streamid.ErrLost.Error())
		})
		l.awaitIDs("without etcd", count(0))
		l.awaitCounts("stream_id_flows", "0", "stream_id_waiting", "40", "stream_id_leases_lost", "1")
	}
	one.learn(f)
	m.start()
	one.awaitIDs("etcd is back", same(idsOne))
	two.awaitIDs("etcd is back", same(idsTwo))
	one.awaitFields("SLUICE_STATE", "global", "stream_ids", "global", "state", "running")

	// A node is killed: its ids are not given to others, and it finds them again.
	one.killed("SLUICE_STATE", "SLUICE_FLOW")
	two.learn(x)
	idsTwo = two.awaitIDs("a flow that tries an id of the dead", count(41))
	disjoint(t, idsOne, idsTwo)
	one.launch(rewriting...)
	one.awaitFields("SLUICE_STATE", "global", "stream_ids", "global")
	one.awaitIDs("the node is back", same(idsOne))

	// It does not come back in time: what it alone used is free.
	one.killed("SLUICE_STATE", "SLUICE_FLOW")
	for deadline := time.Now().Add(streamid.Validity + streamid.Quarantine + patience); ; time.Sleep(10 * poll) {
		nodes, err := m.keys("/sluice/pod-7/node/")
		if err == nil && len(nodes) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("in etcd are the nodes %v, %v", nodes, err)
		}
	}
	two.learn(y)
	idsTwo = two.awaitIDs("a flow that tries a free id", count(42))
	if idsTwo[y] != idsOne[f] {
		t.Errorf("it has id %d, want %d, which its lease no longer holds", idsTwo[y], idsOne[f])
	}
	one.launch(rewriting...)
	one.awaitFields("SLUICE_STATE", "global", "stream_ids", "global")
	disjoint(t, one.awaitIDs("the node is back late", func(ids map[uint32]uint16) bool { return len(ids) == 40 && ids[f] != idsOne[f] }), idsTwo)

	// Another scope takes effect without a restart, and gives up what is in etcd.
	one.set("SLUICE", "global", "stream_id_scope", "hash")
	one.awaitIDs("hash", func(ids map[uint32]uint16) bool { return len(ids) == 40 && ids[f] == hashed(0, f) })
}
