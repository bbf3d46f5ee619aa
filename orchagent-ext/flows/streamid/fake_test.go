// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// fakeEtcd does what etcd does with the operations that this package uses. A
// lease ends the moment it may: no real etcd is as strict.
type fakeEtcd struct {
	tb testing.TB

	mu       sync.Mutex
	revision int64
	term     uint64
	kvs      map[string]*mvccpb.KeyValue
	leases   map[clientv3.LeaseID]*fakeLease
	next     clientv3.LeaseID
}

type fakeLease struct {
	ttl  time.Duration
	ends time.Time
}

func newFakeEtcd(tb testing.TB) *fakeEtcd {
	return &fakeEtcd{tb: tb, revision: 1, kvs: map[string]*mvccpb.KeyValue{}, leases: map[clientv3.LeaseID]*fakeLease{}, next: 1000}
}

// expire ends the leases whose time is over.
func (e *fakeEtcd) expire() {
	for id, l := range e.leases {
		if !time.Now().Before(l.ends) {
			e.revoke(id)
		}
	}
}

func (e *fakeEtcd) revoke(id clientv3.LeaseID) {
	delete(e.leases, id)
	e.revision++
	for key, kv := range e.kvs {
		if kv.GetLease() == int64(id) {
			delete(e.kvs, key)
		}
	}
}

func (e *fakeEtcd) Grant(_ context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next++
	ttl := time.Duration(seconds) * time.Second
	e.leases[e.next] = &fakeLease{ttl, time.Now().Add(ttl)}
	return &clientv3.LeaseGrantResponse{ID: e.next, TTL: seconds}, nil
}

func (e *fakeEtcd) KeepAliveOnce(_ context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire()
	l := e.leases[id]
	if l == nil {
		return nil, rpctypes.ErrLeaseNotFound
	}
	l.ends = time.Now().Add(l.ttl)
	return &clientv3.LeaseKeepAliveResponse{ID: id, TTL: int64(l.ttl.Seconds()), ResponseHeader: &etcdserverpb.ResponseHeader{RaftTerm: e.term}}, nil
}

func (e *fakeEtcd) TimeToLive(_ context.Context, id clientv3.LeaseID, _ ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire()
	answer := &clientv3.LeaseTimeToLiveResponse{ID: id, TTL: -1}
	if l := e.leases[id]; l != nil {
		answer.TTL = int64(time.Until(l.ends).Seconds())
	}
	for key, kv := range e.kvs {
		if kv.GetLease() == int64(id) {
			answer.Keys = append(answer.Keys, []byte(key))
		}
	}
	return answer, nil
}

func (e *fakeEtcd) Do(_ context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire()
	if op.IsGet() {
		return (*clientv3.GetResponse)(e.get(op)).OpResponse(), nil
	}
	checkLimit(e.tb, op, 128)
	path := e.choose(op)
	if missing := e.missingLease(path); missing {
		return clientv3.OpResponse{}, rpctypes.ErrLeaseNotFound
	}
	before := e.revision
	written := map[string]bool{}
	answer := e.carryOut(path, before+1, written)
	if len(written) > 0 {
		e.revision = before + 1
	}
	answer.Header = &etcdserverpb.ResponseHeader{Revision: e.revision, RaftTerm: e.term}
	return (*clientv3.TxnResponse)(answer).OpResponse(), nil
}

// checkLimit fails where etcd would refuse a transaction of too many operations.
func checkLimit(tb testing.TB, op clientv3.Op, limit int) {
	tb.Helper()
	cmps, then, otherwise := op.Txn()
	n := max(len(cmps), len(then), len(otherwise))
	if n > limit {
		tb.Errorf("%d operations where etcd takes %d", n, limit)
	}
	for _, o := range append(slices.Clone(then), otherwise...) {
		if o.IsTxn() {
			checkLimit(tb, o, limit-n)
		}
	}
}

// branch is a transaction whose comparisons were made: etcd makes all of them
// before it writes anything.
type branch struct {
	succeeded bool
	ops       []clientv3.Op
	inner     []*branch // nil where the operation is no transaction
}

func (e *fakeEtcd) choose(op clientv3.Op) *branch {
	cmps, then, otherwise := op.Txn()
	b := &branch{succeeded: true, ops: then}
	for i := range cmps {
		if !e.holds(cmps[i].GetCompare()) {
			b.succeeded, b.ops = false, otherwise
		}
	}
	for _, o := range b.ops {
		var in *branch
		if o.IsTxn() {
			in = e.choose(o)
		}
		b.inner = append(b.inner, in)
	}
	return b
}

func (e *fakeEtcd) holds(c *etcdserverpb.Compare) bool {
	if c.GetResult() != etcdserverpb.Compare_EQUAL {
		e.tb.Errorf("comparison %v is not known here", c)
	}
	found := e.between(c.GetKey(), c.GetRangeEnd())
	if len(found) == 0 {
		if c.GetTarget() == etcdserverpb.Compare_VALUE {
			return false
		}
		found = []*mvccpb.KeyValue{{}}
	}
	for _, kv := range found {
		var same bool
		switch c.GetTarget() {
		case etcdserverpb.Compare_VALUE:
			same = string(kv.GetValue()) == string(c.GetValue())
		case etcdserverpb.Compare_VERSION:
			same = kv.GetVersion() == c.GetVersion()
		case etcdserverpb.Compare_CREATE:
			same = kv.GetCreateRevision() == c.GetCreateRevision()
		case etcdserverpb.Compare_MOD:
			same = kv.GetModRevision() == c.GetModRevision()
		default:
			e.tb.Errorf("comparison %v is not known here", c)
		}
		if !same {
			return false
		}
	}
	return true
}

// between returns the keys from key to end, or under key.
func (e *fakeEtcd) between(key, end []byte) (found []*mvccpb.KeyValue) {
	for k, kv := range e.kvs {
		if k == string(key) || len(end) > 0 && k >= string(key) && k < string(end) {
			found = append(found, kv)
		}
	}
	slices.SortFunc(found, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(string(a.GetKey()), string(b.GetKey())) })
	return found
}

func (e *fakeEtcd) get(op clientv3.Op) *etcdserverpb.RangeResponse {
	found := e.between(op.KeyBytes(), op.RangeBytes())
	if n := op.Limit(); n > 0 {
		found = found[:min(int(n), len(found))]
	}
	return &etcdserverpb.RangeResponse{Kvs: found, Header: &etcdserverpb.ResponseHeader{Revision: e.revision}}
}

// standing is the keys from one to another.
func (e *fakeEtcd) standing(from, to string) (keys []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, kv := range e.between([]byte(from), []byte(to)) {
		keys = append(keys, string(kv.GetKey()))
	}
	return keys
}

// leaseOf reads the lease from the end of a key: every key of this package ends
// with it.
func leaseOf(key string) clientv3.LeaseID {
	id, err := strconv.ParseInt(key[strings.LastIndexByte(key, '/')+1:], 16, 64)
	if err != nil {
		panic(fmt.Sprintf("key %q does not end with a lease", key))
	}
	return clientv3.LeaseID(id)
}

func (e *fakeEtcd) missingLease(b *branch) bool {
	for i, op := range b.ops {
		if b.inner[i] != nil && e.missingLease(b.inner[i]) || op.IsPut() && e.leases[leaseOf(string(op.KeyBytes()))] == nil {
			return true
		}
	}
	return false
}

func (e *fakeEtcd) carryOut(b *branch, revision int64, written map[string]bool) *etcdserverpb.TxnResponse {
	answer := &etcdserverpb.TxnResponse{Succeeded: b.succeeded}
	for i, op := range b.ops {
		key := string(op.KeyBytes())
		var r etcdserverpb.ResponseOp
		switch {
		case b.inner[i] != nil:
			r.Response = &etcdserverpb.ResponseOp_ResponseTxn{ResponseTxn: e.carryOut(b.inner[i], revision, written)}
		case op.IsGet():
			r.Response = &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: e.get(op)}
		case written[key]:
			e.tb.Errorf("key %s is written twice in one transaction, which etcd refuses", key)
		case op.IsPut():
			written[key] = true
			kv := &mvccpb.KeyValue{Key: op.KeyBytes(), Value: op.ValueBytes(), Lease: int64(leaseOf(key)), CreateRevision: revision, ModRevision: revision, Version: 1}
			if old := e.kvs[key]; old != nil {
				kv.CreateRevision, kv.Version = old.GetCreateRevision(), old.GetVersion()+1
			}
			e.kvs[key] = kv
			r.Response = &etcdserverpb.ResponseOp_ResponsePut{}
		case op.IsDelete():
			if e.kvs[key] != nil {
				written[key] = true
				delete(e.kvs, key)
			}
			r.Response = &etcdserverpb.ResponseOp_ResponseDeleteRange{}
		}
		answer.Responses = append(answer.Responses, &r)
	}
	return answer
}
