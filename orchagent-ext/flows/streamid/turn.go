// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/orchagent-ext/host/clock"
)

// turn carries out the next step, or waits for one. An error ends the session; requests
// that timed out are tried again.
func (s *session) turn(ctx context.Context) error {
	now := s.clock()
	s.mu.RLock()
	deadline, scans := s.deadline, s.claims.scans()
	s.mu.RUnlock()
	if now >= deadline {
		return fmt.Errorf("no renewal confirmed for %s", s.validity)
	}
	try, cancel := context.WithTimeout(ctx, min(s.attempt(), deadline-now))
	defer cancel()
	var err error
	switch {
	case now >= s.renewAt && s.renewed == 0:
		err = s.renew(try, now)
	case s.unsure:
		err = s.raise(try)
	case now >= s.checkAt && s.renewed == 0:
		err = s.check(try, now)
	case scans && s.renewed == 0:
		err = s.scan(try)
	default:
		if steps := s.plan(now); len(steps) > 0 || s.renewed != 0 {
			err = s.commit(try, steps)
			break
		}
		cancel()
		s.wait(ctx, now)
	}
	if err != nil && !errors.Is(err, errGone) {
		s.config.Log.Debug("global stream ids", "error", err)
		clock.Sleep(ctx, min(pause, s.attempt()))
		err = s.late(err)
	}
	return err
}

// late turns the error of an attempt into that of the session when the time is too short
// for another.
func (s *session) late(err error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.clock() < s.deadline {
		return nil
	}
	return fmt.Errorf("no renewal confirmed for %s: %w", s.validity, err)
}

// errGone ends a session: etcd has given the lease or its keys up.
var errGone = errors.New("the lease or keys of this node are gone from etcd")

// do sends one request to etcd; errGone means that the lease is gone.
func (s *session) do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	answer, err := s.store.Do(ctx, op)
	s.mu.Lock()
	s.stats.Transactions++
	if err != nil {
		s.stats.Unknown++
	}
	s.mu.Unlock()
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		err = errGone
	}
	return answer, err
}

// renew renews the lease. The deadline counts from now, which is before the request.
func (s *session) renew(ctx context.Context, now time.Duration) error {
	answer, err := s.store.KeepAliveOnce(ctx, s.space.lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return errGone
	}
	if err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	s.renewed, err = s.deadlineOf(now, answer.TTL)
	s.renewAt = now + s.validity/4
	s.term = answer.GetRaftTerm()
	return err
}

// confirm records that the node's references were there under the leader of a term. A
// renewal by the leader of another term may be one by a leader that was deposed:
// it is an error, and to be asked for again. s.mu is held.
func (s *session) confirm(term uint64) error {
	switch {
	case s.renewed == 0 || s.clock() >= s.deadline:
	case term != s.term:
		s.renewed, s.renewAt = 0, 0
		return fmt.Errorf("etcd's leader changed: the lease was renewed in term %d, it is term %d", s.term, term)
	default:
		s.deadline, s.renewed = s.renewed, 0
	}
	return nil
}

// raise writes the fence again: a transaction that was sent before and is still
// unanswered is done by then, or fails for ever.
func (s *session) raise(ctx context.Context) error {
	answer, err := s.do(ctx, s.space.register(s.config.Node, s.created))
	if err != nil {
		return fmt.Errorf("write the node's key: %w", err)
	}
	if !answer.Txn().Succeeded {
		return errGone
	}
	s.fence, s.unsure = answer.Txn().Header.GetRevision(), false
	return nil
}

// check checks that the lease still has every key of this node: a deleted one frees its
// id for other nodes. A request that times out is repeated later.
func (s *session) check(ctx context.Context, now time.Duration) error {
	s.checkAt = now + s.validity/2
	answer, err := s.store.TimeToLive(ctx, s.space.lease, clientv3.WithAttachedKeys())
	if err != nil {
		s.config.Log.Debug("global stream ids: keys of the lease", "error", err)
		return nil
	}
	there := make(map[string]bool, len(answer.Keys))
	for _, key := range answer.Keys {
		there[string(key)] = true
	}
	want := []string{s.space.node()}
	s.mu.RLock()
	for _, f := range s.claims.byName {
		if f.phase == held || f.phase == leaving {
			want = append(want, s.space.ref(s.space.flows(f.name)), s.space.ref(s.space.ids(f.id)))
		}
	}
	s.mu.RUnlock()
	gone := 0
	for _, key := range want {
		if !there[key] {
			gone++
		}
	}
	if gone > 0 {
		return fmt.Errorf("%w: %d of %d, which another program deleted", errGone, gone, len(want))
	}
	return nil
}

// scan reads the ids in use and passes them to the claims.
func (s *session) scan(ctx context.Context) error {
	answer, err := s.do(ctx, s.space.scan())
	if err != nil {
		return fmt.Errorf("read the ids in use: %w", err)
	}
	used := s.space.used((*etcdserverpb.RangeResponse)(answer.Get()))
	s.mu.Lock()
	changed := s.claims.scanned(used, s.clock())
	s.stats.Full += uint64(len(changed))
	told := s.claims.tell(changed)
	s.mu.Unlock()
	s.tell(told)
	return nil
}

// plan returns the next steps, at most batch of them.
func (s *session) plan(now time.Duration) []step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims.plan(now, batch)
}

// commit carries out the steps. That it succeeds shows that the lease's
// references are there, which confirms a renewal before it.
func (s *session) commit(ctx context.Context, steps []step) error {
	answer, err := s.do(ctx, s.space.commit(s.config.Node, s.fence, steps))
	var outcomes []outcome
	switch {
	case err != nil:
		err = fmt.Errorf("claim %d flows: %w", len(steps), err)
	case !answer.Txn().Succeeded:
		err = errors.New("the node's key is not what it was")
	default:
		outcomes, err = s.space.outcomes(steps, (*etcdserverpb.TxnResponse)(answer.Txn()))
		if len(steps) > 0 {
			s.fence = answer.Txn().Header.GetRevision()
		}
	}
	s.mu.Lock()
	if err != nil {
		s.unsure = true
		s.claims.unknown(steps)
		s.mu.Unlock()
		return err
	}
	changed := s.claims.finish(steps, outcomes, s.clock())
	told := s.claims.tell(changed)
	s.stats.Changed += uint64(len(told))
	for i := range outcomes {
		if !outcomes[i].ok && outcomes[i].other == 0 {
			s.stats.Taken++
		}
	}
	err = s.confirm(answer.Txn().Header.GetRaftTerm())
	s.mu.Unlock()
	s.tell(told)
	return err
}

// tell logs changed ids and passes them to the configuration's function.
func (s *session) tell(told []Change) {
	for _, ch := range told {
		s.config.Log.Info("global stream ids: id changed", "flow", ch.Key, "old", ch.Old, "new", ch.New)
		s.config.Changed(ch)
	}
}

// wait returns when there may be something to do.
func (s *session) wait(ctx context.Context, now time.Duration) {
	until := min(s.renewAt, s.checkAt)
	s.mu.RLock()
	if next, ok := s.claims.next(); ok {
		until = min(until, next)
	}
	s.mu.RUnlock()
	t := time.NewTimer(max(until-now, time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.wake:
	case <-ctx.Done():
	}
}
