// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// store is the part of etcd's client that a session uses; a [clientv3.Client] is one.
type store interface {
	Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error)
	KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error)
	TimeToLive(ctx context.Context, id clientv3.LeaseID, opts ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error)
	Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error)
}

// session is the time of one lease.
type session struct {
	*Global
	store store
	space space

	created int64         // revision of the node's key when it was first written
	fence   int64         // and last
	renewAt time.Duration // by clock
	renewed time.Duration // deadline of a renewal that is yet to be confirmed, or 0
	term    uint64        // of etcd's leader at that renewal
	checkAt time.Duration // when the keys under the lease are checked, by clock
	unsure  bool          // an answer was lost: the fence must be written again
}

// session takes a lease and works under it until it is lost or ctx ends. It reports
// whether it had one.
func (g *Global) session(ctx context.Context, to store) (had bool, err error) {
	s, deadline, err := g.open(ctx, to)
	if err != nil {
		return false, err
	}
	g.mu.Lock()
	g.deadline = deadline
	g.stats.Leases++
	g.mu.Unlock()
	g.config.Log.Info("global stream ids: lease taken", "lease", fmt.Sprintf("%016x", int64(s.space.lease)))
	g.config.Lease(true)
	for ctx.Err() == nil {
		if err = s.turn(ctx); err != nil {
			break
		}
	}
	g.mu.Lock()
	g.deadline = 0
	g.claims.lost()
	if ctx.Err() == nil {
		g.stats.Lost++
	}
	g.mu.Unlock()
	g.config.Lease(false)
	return true, err
}

// open takes a lease and registers the node under it. The deadline counts from
// before the lease was asked for.
func (g *Global) open(ctx context.Context, to store) (s *session, deadline time.Duration, err error) {
	asked := g.clock()
	ctx, cancel := context.WithTimeout(ctx, g.attempt())
	defer cancel()
	seconds := int64(math.Ceil((g.validity + g.quarantine).Seconds()))
	lease, err := to.Grant(ctx, seconds)
	if err != nil {
		return nil, 0, fmt.Errorf("ask etcd for a lease: %w", err)
	}
	s = &session{Global: g, store: to, space: space{prefix: g.config.Prefix(), lease: lease.ID}}
	deadline, err = s.deadlineOf(asked, lease.TTL)
	if err != nil {
		return nil, 0, err
	}
	answer, err := to.Do(ctx, s.space.register(g.config.Node, 0))
	if err != nil {
		return nil, 0, fmt.Errorf("register node %q in etcd: %w", g.config.Node, err)
	}
	if !answer.Txn().Succeeded {
		return nil, 0, fmt.Errorf("register node %q in etcd: %s is there already", g.config.Node, s.space.node())
	}
	s.created = answer.Txn().Header.GetRevision()
	s.fence = s.created
	s.renewAt, s.checkAt = asked+g.validity/4, asked+g.validity/2
	return s, deadline, nil
}

// attempt is how long one request may take: so short that renewing outlives a
// member of etcd that is silent.
func (g *Global) attempt() time.Duration { return g.validity / 5 }

// errShortLease: ids would be given to others before this switch ceases to use them.
var errShortLease = errors.New("etcd grants a lease that is too short")

// deadlineOf is when ids cease to be valid under a lease of ttl seconds that was
// asked for at a moment.
func (s *session) deadlineOf(asked time.Duration, ttl int64) (time.Duration, error) {
	validity := time.Duration(ttl)*time.Second - s.quarantine
	if validity < s.validity {
		return 0, fmt.Errorf("%w: it is %d s, and %s is needed", errShortLease, ttl, s.validity+s.quarantine)
	}
	return asked + s.validity, nil
}
