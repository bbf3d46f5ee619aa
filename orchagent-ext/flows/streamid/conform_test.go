// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/tests/etcdtest"
)

// conform lets the fake and etcd carry out the same transactions: the tests with the
// fake are worth as much as it resembles etcd.
func conform(t *testing.T, c *etcdtest.Cluster) {
	fake := newFakeEtcd(t)
	prefix := "/sluice/" + t.Name() + "/"
	type side struct {
		store
		fence [2]int64
	}
	sides := []*side{{store: c.Client}, {store: fake}}
	var spaces []space
	for i := range 2 {
		lease, err := c.Client.Grant(t.Context(), 600)
		if err != nil {
			t.Fatal(err)
		}
		fake.next = lease.ID - 1
		if _, err := fake.Grant(t.Context(), 600); err != nil {
			t.Fatal(err)
		}
		spaces = append(spaces, space{prefix: prefix, lease: lease.ID})
		for _, s := range sides {
			answer, err := s.Do(t.Context(), spaces[i].register("n", 0))
			if err != nil || !answer.Txn().Succeeded {
				t.Fatalf("register: %v", err)
			}
			s.fence[i] = answer.Txn().Header.GetRevision()
		}
	}
	// said is what a session would make of the answer.
	said := func(s *side, i int, steps []step, fence int64) string {
		answer, err := s.Do(t.Context(), spaces[i].commit("n", fence, steps))
		if err != nil {
			return err.Error()
		}
		if !answer.Txn().Succeeded {
			return "fenced"
		}
		if len(steps) > 0 {
			s.fence[i] = answer.Txn().Header.GetRevision()
		}
		outcomes, err := spaces[i].outcomes(steps, (*etcdserverpb.TxnResponse)(answer.Txn()))
		return fmt.Sprint(outcomes, err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]int{}
	for n := range 400 {
		i := r.IntN(2)
		var steps []step
		flows, ids := r.Perm(12), r.Perm(12)
		for j := range r.IntN(6) {
			steps = append(steps, step{claim: &claim{name: fmt.Sprint("f", flows[j])}, id: uint16(65524 + ids[j]), remove: r.IntN(3) == 0})
		}
		stale := int64(0)
		if r.IntN(10) == 0 {
			stale = 1
		}
		want := said(sides[0], i, steps, sides[0].fence[i]-stale)
		if got := said(sides[1], i, steps, sides[1].fence[i]-stale); got != want {
			t.Fatalf("transaction %d: the fake says %s, etcd %s", n, got, want)
		}
		kinds[want]++
	}
	if len(kinds) < 50 {
		t.Errorf("only %d different answers", len(kinds))
	}
	state := func(s store) map[string]string {
		answer, err := s.Do(t.Context(), clientv3.OpGet(prefix, clientv3.WithPrefix()))
		if err != nil {
			t.Fatal(err)
		}
		kvs := map[string]string{}
		for _, kv := range answer.Get().Kvs {
			kvs[string(kv.Key)] = fmt.Sprintf("%s lease %x", kv.Value, kv.Lease)
		}
		return kvs
	}
	if diff := cmp.Diff(state(c.Client), state(fake)); diff != "" {
		t.Errorf("in etcd, and in the fake (+): %s", diff)
	}
	// A lease that is gone takes its keys along, and no more are written under it.
	if _, err := c.Client.Revoke(t.Context(), spaces[0].lease); err != nil {
		t.Fatal(err)
	}
	fake.mu.Lock()
	fake.revoke(spaces[0].lease)
	fake.mu.Unlock()
	if diff := cmp.Diff(state(c.Client), state(fake)); diff != "" {
		t.Errorf("without the lease, in etcd and in the fake (+): %s", diff)
	}
	for _, s := range sides {
		if _, err := s.Do(t.Context(), spaces[0].register("n", 0)); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			t.Errorf("written under a lease that is gone: %v", err)
		}
		if got := said(s, 0, nil, s.fence[0]); got != "fenced" {
			t.Errorf("asked under a lease that is gone: %s", got)
		}
		if _, err := s.KeepAliveOnce(t.Context(), spaces[0].lease); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			t.Errorf("renewed a lease that is gone: %v", err)
		}
	}
}
