// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/orchagent-ext/flows/flow"

	"sluice/tests/etcdtest"
)

var _ store = (*clientv3.Client)(nil)

// switched is a way to the fake that can be cut: then requests wait until their
// time is over.
type switched struct {
	*fakeEtcd
	mu   sync.Mutex
	down bool
	ttl  int64 // of leases; 0: as asked
	past bool  // renewals are answered by a leader that was deposed
}

func (s *switched) cut(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *switched) pass(ctx context.Context) error {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (s *switched) Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	if s.ttl != 0 {
		seconds = s.ttl
	}
	return s.fakeEtcd.Grant(ctx, seconds)
}

func (s *switched) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	past := s.past
	s.mu.Unlock()
	if past {
		return &clientv3.LeaseKeepAliveResponse{ID: id, TTL: 15, ResponseHeader: &etcdserverpb.ResponseHeader{RaftTerm: 1}}, nil
	}
	return s.fakeEtcd.KeepAliveOnce(ctx, id)
}

func (s *switched) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if err := s.pass(ctx); err != nil {
		return clientv3.OpResponse{}, err
	}
	return s.fakeEtcd.Do(ctx, op)
}

func sinceNow() func() time.Duration {
	begin := time.Now()
	return func() time.Duration { return time.Since(begin) }
}

// TestIDsExpireWithoutEtcd: without etcd the ids are valid for no longer than the validity,
// and etcd keeps the references for the quarantine behind that.
func TestIDsExpireWithoutEtcd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := &switched{fakeEtcd: newFakeEtcd(t)}
		g := newGlobal(Config{}, Validity, Quarantine, sinceNow())
		defer serve(g, etcd)()
		synctest.Wait()
		k := testKey(1)
		id, err := g.Allocate(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // renewals keep it
		if got, ok := g.ID(k); !ok || got != id || !g.Valid(id) {
			t.Fatalf("id %d %v behind an hour, want %d", got, ok, id)
		}
		etcd.cut(true)
		cut := time.Now()
		for g.Valid(id) {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(cut); took < Validity-Validity/4 || took > Validity {
			t.Errorf("valid for %s without etcd: renewed every %s, it may be %s", took, Validity/4, Validity)
		}
		if _, ok := g.ID(k); ok {
			t.Error("the flow has an id that is not valid")
		}
		if _, err := g.Allocate(t.Context(), k); !errors.Is(err, ErrLost) {
			t.Errorf("allocated: %v", err)
		}
		lost := time.Now()
		for len(etcd.standing("/sluice/default/id/", "/sluice/default/id0")) > 0 {
			time.Sleep(time.Millisecond)
			etcd.mu.Lock()
			etcd.expire()
			etcd.mu.Unlock()
		}
		if took := time.Since(lost); took < Quarantine {
			t.Errorf("etcd freed the id %s after the node lost it, want %s at least", took, Quarantine)
		}
		etcd.cut(false)
		time.Sleep(time.Minute)
		if got, ok := g.ID(k); !ok || got != id {
			t.Errorf("id %d %v with the next lease, want %d", got, ok, id)
		}
	})
}

// TestDeposedLeader: a lease that only a deposed leader renews is not renewed, and
// that another one leads is no harm.
func TestDeposedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := &switched{fakeEtcd: newFakeEtcd(t)}
		g := newGlobal(Config{}, Validity, Quarantine, sinceNow())
		defer serve(g, etcd)()
		for range 10 {
			time.Sleep(time.Minute)
			etcd.fakeEtcd.mu.Lock()
			etcd.term++
			etcd.fakeEtcd.mu.Unlock()
		}
		if s := g.Stats(); s.Leases != 1 || s.Lost != 0 {
			t.Errorf("a change of the leader: %+v", s)
		}
		etcd.mu.Lock()
		etcd.past = true
		etcd.mu.Unlock()
		time.Sleep(Validity + time.Second)
		if s := g.Stats(); s.Lost != 1 {
			t.Errorf("renewed by a deposed leader for %s: %+v", Validity, s)
		}
	})
}

// TestAllocateKeepsTheFlowWanted: Allocate that ends early, or finds no lease, is not
// forgotten.
func TestAllocateKeepsTheFlowWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := &switched{fakeEtcd: newFakeEtcd(t)}
		g := newGlobal(Config{}, Validity, Quarantine, sinceNow())
		if _, err := g.Allocate(t.Context(), testKey(1)); !errors.Is(err, ErrLost) {
			t.Errorf("before Run: %v", err)
		}
		defer serve(g, etcd)()
		synctest.Wait()
		etcd.cut(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Allocate(ctx, testKey(2))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "2000::,2000::2,label=0x80002") {
			t.Errorf("%v", err)
		}
		etcd.cut(false)
		time.Sleep(time.Minute)
		for n := 1; n <= 2; n++ {
			if _, ok := g.ID(testKey(n)); !ok {
				t.Errorf("flow %d was forgotten", n)
			}
		}
	})
}

// TestWaitersEnd: who waits for an id learns that the flow was released, or that
// the lease is lost.
// TestWantNeverWaits: without etcd a flow is wanted at once, has no id, and gets one
// when etcd is there.
func TestWantNeverWaits(t *testing.T) {
	c := etcdtest.Start(t, 1, "http")
	c.Kill(0)
	n := runNode(t, "n", c.URLs(), nil)
	k := testKey(1)
	begin := time.Now()
	for i := range 1000 {
		if err := n.Want(testKey(i)); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took > patience { // 60 ms each
		t.Errorf("it took %v", took)
	}
	etcdtest.Eventually(t, patience, "the reason", func() error {
		if err := n.Err(); !errors.Is(err, ErrLost) {
			return fmt.Errorf("it says %w", err)
		}
		return nil
	})
	if id, ok := n.ID(k); ok {
		t.Errorf("id %d without a lease", id)
	}
	c.Start(0)
	etcdtest.Eventually(t, patience, "an id", func() error {
		if _, ok := n.ID(k); !ok {
			return errors.New("none")
		}
		return n.Err()
	})
}

func TestWaitersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		etcd := &switched{fakeEtcd: newFakeEtcd(t)}
		g := newGlobal(Config{}, Validity, Quarantine, sinceNow())
		defer serve(g, etcd)()
		synctest.Wait()
		etcd.cut(true)
		released, lost := make(chan error), make(chan error)
		go func() { _, err := g.Allocate(t.Context(), testKey(1)); released <- err }()
		go func() { _, err := g.Allocate(t.Context(), testKey(2)); lost <- err }()
		synctest.Wait()
		g.Release(testKey(1))
		if err := <-released; !errors.Is(err, errReleased) {
			t.Errorf("%v", err)
		}
		if err := <-lost; !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
	})
}

// TestShortLease: etcd may grant less than was asked for; the quarantine would be
// the victim.
func TestShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGlobal(Config{}, Validity, Quarantine, sinceNow())
		had, err := g.session(t.Context(), &switched{fakeEtcd: newFakeEtcd(t), ttl: 14})
		if had || !errors.Is(err, errShortLease) {
			t.Errorf("%v %v", had, err)
		}
	})
}

// TestForeignKeys: keys that another program writes are not taken for Sluice's.
func TestForeignKeys(t *testing.T) {
	for _, bad := range []string{"", "0000", "1", "12345", "xyz0"} {
		if id, ok := idOf(bad); ok {
			t.Errorf("%q is id %d", bad, id)
		}
	}
	s := space{prefix: "/sluice/d/"}
	var r etcdserverpb.RangeResponse
	for _, key := range []string{"00ff/408", "00ff/409", "0100/408", "zzzz/1", "/", "ffff/408"} {
		r.Kvs = append(r.Kvs, &mvccpb.KeyValue{Key: []byte(s.prefix + "id/" + key)})
	}
	if diff := cmp.Diff([]uint16{255, 256, 65535}, s.used(&r)); diff != "" {
		t.Error(diff)
	}
	k := testKey(1)
	etcd := newFakeEtcd(t)
	foreign := "/sluice/default/flow/" + ByFlowLabel.name(&k) + "/1"
	etcd.kvs[foreign] = &mvccpb.KeyValue{Key: []byte(foreign), Value: []byte("me"), Version: 1}
	synctest.Test(t, func(t *testing.T) {
		g := newGlobal(Config{}, Validity, Quarantine, sinceNow())
		var err error
		ended := make(chan struct{})
		go func() { _, err = g.session(t.Context(), etcd); close(ended) }()
		synctest.Wait()
		if _, err := g.Allocate(t.Context(), k); !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
		<-ended
		if e := new(foreignError); !errors.As(err, &e) || *e != (foreignError{foreign, "me"}) {
			t.Errorf("%v", err)
		}
	})
}

// TestIDIsCheap: what the packet path may ask allocates nothing.
func TestIDIsCheap(t *testing.T) {
	g := newGlobal(Config{}, Validity, Quarantine, sinceNow())
	g.deadline = time.Hour
	var keys []flow.Key
	for n := range 1000 {
		k := testKey(n)
		f := g.claims.want(k, ByFlowLabel.name(&k), uint16(n+1), 0)
		g.claims.hold(f)
		keys = append(keys, k)
	}
	n := 0
	if allocs := testing.AllocsPerRun(1000, func() {
		id, ok := g.ID(keys[n%1000])
		if !ok || !g.Valid(id) || int(id) != n%1000+1 {
			t.Errorf("flow %d has id %d %v", n, id, ok)
		}
		n++
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if got, err := g.Allocate(t.Context(), keys[5]); err != nil || got != 6 {
		t.Errorf("a flow that has id 6: %d %v", got, err)
	}
}

// Valid reports whether a flow of this node has the Stream ID now. It returns at once.
func (g *Global) Valid(id uint16) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.claims.byID[id] != nil && g.clock() < g.deadline
}
