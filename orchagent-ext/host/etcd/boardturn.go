// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Bounds of one transaction: etcd takes 128 operations and 1.5 MiB.
const (
	mostGets    = 16
	mostPuts    = 64
	mostPayload = 512 << 10
)

// renew renews the lease and plans the next renewal after a quarter of it. Time counts
// from before the request, as etcd cannot have renewed earlier.
func (s *boardSession) renew(ctx context.Context) error {
	began := time.Now()
	asking, cancel := context.WithTimeout(ctx, s.attempt)
	defer cancel()
	if _, err := s.client.KeepAliveOnce(asking, s.id); err != nil {
		return leaseError(fmt.Errorf("renew the lease: %w", err))
	}
	s.renewAt = began.Add(s.lease / 4)
	return nil
}

// show writes the row of this node after a change. A row of its name under a foreign
// lease is another node's, or its own of before it was killed.
func (s *boardSession) show(ctx context.Context) error {
	s.mu.Lock()
	row := s.row
	s.mu.Unlock()
	if row == nil || bytes.Equal(row, s.written) {
		return nil
	}
	key := s.keys.row(s.config.Node)
	put := clientv3.OpPut(key, string(row), clientv3.WithLease(s.id))
	answer, err := s.client.Txn(ctx).If(mine(key, s.id)).Then(put).
		Else(clientv3.OpTxn([]clientv3.Cmp{missing(key)}, []clientv3.Op{put}, []clientv3.Op{clientv3.OpGet(key)})).Commit()
	if err != nil {
		return fmt.Errorf("write the row of this node: %w", err)
	}
	if !answer.Succeeded {
		if other := answer.Responses[0].GetResponseTxn(); !other.GetSucceeded() {
			if taken, err := s.takeOver(ctx, other.GetResponses()[0].GetResponseRange().GetKvs(), put); err != nil {
				return fmt.Errorf("take over the row of this node: %w", err)
			} else if taken == 0 {
				return fmt.Errorf("%s is of another lease: another switch is called %q, or this one was killed, and its lease ends in %s", key, s.config.Node, s.lease)
			}
		}
	}
	s.written = row
	return nil
}

// takeOver puts a key that is under a former lease of this board, or under no lease, under
// the present lease. A key without a lease would last for ever: a board writes none, but
// another program or a restored backup may have. Other nodes see the key at all times. It
// returns the key's revision; 0: the key is another node's.
func (s *boardSession) takeOver(ctx context.Context, was []*mvccpb.KeyValue, put clientv3.Op) (revision int64, err error) {
	if len(was) == 0 || was[0].GetLease() != 0 && !slices.Contains(s.former, clientv3.LeaseID(was[0].GetLease())) {
		return 0, nil
	}
	same := clientv3.Compare(clientv3.ModRevision(string(was[0].GetKey())), "=", was[0].GetModRevision())
	answer, err := s.client.Txn(ctx).If(same).Then(put).Commit()
	if err != nil || !answer.Succeeded {
		return 0, err
	}
	return answer.Header.GetRevision(), nil
}

// elect makes this node the leader if the place is free.
func (s *boardSession) elect(ctx context.Context) error {
	key := s.keys.leader()
	put := clientv3.OpPut(key, s.config.Node, clientv3.WithLease(s.id))
	answer, err := s.client.Txn(ctx).If(missing(key)).Then(put, clientv3.OpGet(key)).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return fmt.Errorf("elect a leader: %w", err)
	}
	s.leads = 0
	kvs := answer.Responses[len(answer.Responses)-1].GetResponseRange().GetKvs()
	if len(kvs) == 0 {
		return nil
	}
	s.view.Leader = fmt.Sprintf("%.255s", kvs[0].GetValue())
	if kvs[0].GetLease() == int64(s.id) {
		s.leads = kvs[0].GetModRevision()
	} else if s.leads, err = s.takeOver(ctx, kvs, put); err != nil {
		return fmt.Errorf("go on as the leader: %w", err)
	}
	if s.leads != 0 {
		s.view.Leader, s.view.Leads = s.config.Node, true
	}
	return nil
}

// read reads the rows that changed.
func (s *boardSession) read(ctx context.Context) error {
	prefix := s.keys.rows()
	answer, err := s.client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(int64(s.config.MostRows)))
	if err != nil {
		return fmt.Errorf("list the rows: %w", err)
	}
	now := make(map[string]boardRow, len(answer.Kvs))
	var changed []string
	for _, kv := range answer.Kvs {
		key := string(kv.GetKey())
		if was, known := s.rows[key]; known && was.revision == kv.GetModRevision() {
			now[key] = was
		} else {
			changed = append(changed, key)
		}
	}
	for keys := range slices.Chunk(changed, mostGets) {
		gets := make([]clientv3.Op, len(keys))
		for i, key := range keys {
			gets[i] = clientv3.OpGet(key)
		}
		got, err := s.client.Txn(ctx).Then(gets...).Commit()
		if err != nil {
			return fmt.Errorf("read %d rows: %w", len(keys), err)
		}
		for _, one := range got.Responses {
			for _, kv := range one.GetResponseRange().GetKvs() {
				now[string(kv.GetKey())] = s.rowOf(kv)
			}
		}
	}
	s.rows = now
	s.gather(answer.Count - int64(len(answer.Kvs)))
	return nil
}

// rowOf returns a row as read, with a value that is too large left out.
func (s *boardSession) rowOf(kv *mvccpb.KeyValue) boardRow {
	r := boardRow{revision: kv.GetModRevision(), value: kv.GetValue()}
	if len(r.value) > s.config.MostOctets {
		r.aside, r.value = fmt.Errorf("%d octets: at most %d are possible", len(r.value), s.config.MostOctets), nil
	}
	return r
}

// gather makes the rows of the view; more is the number of rows above the limit of the
// request.
func (s *boardSession) gather(more int64) {
	s.view.Rows, s.view.Aside = map[string][]byte{}, map[string]error{}
	if more > 0 {
		s.view.Aside["…"] = fmt.Errorf("%d more rows: at most %d are possible", more, s.config.MostRows)
	}
	total := 0
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		r, node := s.rows[key], strings.TrimPrefix(key, s.keys.rows())
		total += len(r.value)
		switch {
		case r.aside != nil:
			s.view.Aside[node] = r.aside
		case total > s.config.MostTotal:
			s.view.Aside[node] = fmt.Errorf("all rows have more than %d octets", s.config.MostTotal)
		default:
			s.view.Rows[node] = r.value
		}
	}
	if _, there := s.rows[s.keys.row(s.config.Node)]; !there {
		s.written = nil // another program removed it
	}
}

// published reads the publication in force, and the part of this node.
func (s *boardSession) published(ctx context.Context) error {
	key := s.keys.published()
	answer, err := s.client.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read what is published: %w", err)
	}
	if len(answer.Kvs) == 0 {
		return nil
	}
	text := string(answer.Kvs[0].Value)
	s.view.Published, s.view.About, err = parsePublished(text)
	if err != nil {
		s.view.Aside[key] = err
		return nil
	}
	// Only while that is published are all its parts there.
	got, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.Value(key), "=", text)).
		Then(clientv3.OpGet(s.keys.part(s.view.Published, s.config.Node))).Commit()
	if err != nil {
		return fmt.Errorf("read the part of this node: %w", err)
	}
	if !got.Succeeded {
		return errors.New("what is published changed while it was read")
	}
	for _, kv := range got.Responses[0].GetResponseRange().GetKvs() {
		if s.view.Part = kv.GetValue(); len(s.view.Part) > s.config.MostOctets {
			s.view.Part, s.view.Aside[string(kv.GetKey())] = nil, fmt.Errorf("%d octets: at most %d are possible", len(s.view.Part), s.config.MostOctets)
		}
	}
	return nil
}

// publish writes the pending publication, if this node leads.
func (s *boardSession) publish(ctx context.Context) error {
	s.mu.Lock()
	p := s.pending
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	done := func() {
		s.mu.Lock()
		if s.pending == p {
			s.pending = nil
		}
		s.mu.Unlock()
	}
	if s.leads == 0 || p.number <= s.view.Published {
		done()
		return nil
	}
	// Each transaction moves the leader's key: one whose answer was lost, and that comes
	// late, compares with an older key and has no effect.
	key := s.keys.leader()
	for _, ops := range s.writes(p) {
		asking, cancel := context.WithTimeout(ctx, s.attempt)
		ops = append(ops, clientv3.OpPut(key, s.config.Node, clientv3.WithLease(s.id)))
		answer, err := s.client.Txn(asking).If(clientv3.Compare(clientv3.ModRevision(key), "=", s.leads)).Then(ops...).Commit()
		cancel()
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		if !answer.Succeeded {
			return errors.New("publish: the leader's key is not what it was")
		}
		s.leads = answer.Header.GetRevision()
	}
	done()
	select {
	case s.wake <- struct{}{}: // it reads its own row
	default:
	}
	return nil
}

// writes are the transactions of a publication, in order: parts that a dead leader left
// are removed, the new ones are written, and then they are put in force.
func (s *boardSession) writes(p *publication) (all [][]clientv3.Op) {
	was := s.view.Published
	end := clientv3.GetPrefixRangeEnd(s.keys.parts())
	before, behind := s.keys.partsOf(was), clientv3.GetPrefixRangeEnd(s.keys.partsOf(was))
	all = append(all, []clientv3.Op{
		clientv3.OpDelete(s.keys.parts(), clientv3.WithRange(before)),
		clientv3.OpDelete(behind, clientv3.WithRange(end)),
	})
	var puts []clientv3.Op
	octets := 0
	for _, node := range slices.Sorted(maps.Keys(p.parts)) {
		if len(puts) == mostPuts || len(puts) > 0 && octets+len(p.parts[node]) > mostPayload {
			all, puts, octets = append(all, puts), nil, 0
		}
		puts = append(puts, clientv3.OpPut(s.keys.part(p.number, node), string(p.parts[node])))
		octets += len(p.parts[node])
	}
	if len(puts) > 0 {
		all = append(all, puts)
	}
	return append(all, []clientv3.Op{
		clientv3.OpPut(s.keys.published(), publishedText(p.number, p.about)),
		clientv3.OpDelete(before, clientv3.WithRange(behind)),
	})
}
