package streamid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// pause is between attempts at an etcd that does not answer as it should.
const pause = 200 * time.Millisecond

// warnEvery is how often the log tells of an etcd that is not there.
const warnEvery = time.Minute

// store is what is asked of etcd; a [clientv3.Client] is one.
type store interface {
	Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error)
	KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error)
	Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error)
}

// Run takes a lease in etcd, keeps it, and claims what is wanted, until ctx ends.
// A lost lease is followed by another. Behind Run no id is valid; what stands in
// etcd goes with the lease, so that a daemon that starts again at once finds its
// flows' ids.
func (g *Global) Run(ctx context.Context) error {
	var client *clientv3.Client
	var why cause
	var said time.Time
	for ctx.Err() == nil {
		var err error
		if client == nil {
			client, err = g.connect(ctx, &why)
		}
		had := false
		if err == nil {
			had, err = g.session(ctx, client)
		}
		if ctx.Err() != nil {
			break
		}
		level := slog.LevelDebug
		if had || time.Since(said) > warnEvery {
			level, said = slog.LevelWarn, time.Now()
		}
		g.config.Log.Log(ctx, level, "global stream ids: "+ErrLost.Error(), "reason", why.add(err))
		sleep(ctx, pause)
	}
	if client == nil {
		return nil
	}
	return client.Close()
}

// connect makes the client. With a user it asks etcd for a token, and fails when
// etcd is not there.
func (g *Global) connect(ctx context.Context, why *cause) (*clientv3.Client, error) {
	c := *g.client
	c.Context = ctx
	c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(why.intercept))
	return clientv3.New(c)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// session is the time of one lease.
type session struct {
	*Global
	store store
	space space

	created int64         // revision of the node's key when it was first written
	fence   int64         // and last
	renewAt time.Duration // by clock
	renewed time.Duration // deadline of a renewal that is yet to be confirmed; 0: none
	unsure  bool          // an answer was lost: the fence must be written anew
}

// session takes a lease and works under it until it is lost or ctx ends. It says
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
	g.stats.Lost++
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
	s = &session{Global: g, store: to, space: space{prefix: "/sluice/" + g.config.Domain + "/", lease: lease.ID}}
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
	s.renewAt = asked + g.validity/4
	return s, deadline, nil
}

// attempt is how long one request may take: so short that renewing outlives a
// member of etcd that is silent.
func (g *Global) attempt() time.Duration { return g.validity / 5 }

// deadlineOf is when ids cease to be valid under a lease of ttl seconds that was
// asked for at a moment.
func (s *session) deadlineOf(asked time.Duration, ttl int64) (time.Duration, error) {
	validity := time.Duration(ttl)*time.Second - s.quarantine
	if validity < s.validity {
		return 0, fmt.Errorf("etcd grants a lease of %d s: %s is needed", ttl, s.validity+s.quarantine)
	}
	return asked + s.validity, nil
}

// turn does the next thing, or waits until there is one. An error ends the
// session; what etcd could not answer in time is tried again.
func (s *session) turn(ctx context.Context) error {
	now := s.clock()
	s.mu.RLock()
	deadline, scans := s.deadline, s.claims.scans()
	s.mu.RUnlock()
	if now >= deadline {
		return fmt.Errorf("etcd did not answer for %s", s.validity)
	}
	try, cancel := context.WithTimeout(ctx, min(s.attempt(), deadline-now))
	defer cancel()
	var err error
	switch {
	case now >= s.renewAt && s.renewed == 0:
		err = s.renew(try, now)
	case s.unsure:
		err = s.raise(try)
	case scans:
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
		sleep(ctx, min(pause, s.attempt()))
		err = s.late(err)
	}
	return err
}

// late turns the error of an attempt into that of the session when there is no
// time for another.
func (s *session) late(err error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.clock() < s.deadline {
		return nil
	}
	return fmt.Errorf("etcd did not answer for %s: %w", s.validity, err)
}

var errGone = errors.New("the lease or the node's key is gone from etcd")

// do asks etcd; errGone when the lease is not there.
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
	return err
}

// raise writes the fence anew: what was sent before and has no answer yet is done
// by then, or never will be.
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

func (s *session) scan(ctx context.Context) error {
	answer, err := s.do(ctx, s.space.scan())
	if err != nil {
		return fmt.Errorf("read the ids in use: %w", err)
	}
	used, err := s.space.used((*etcdserverpb.RangeResponse)(answer.Get()))
	if err != nil {
		return err
	}
	s.mu.Lock()
	changed := s.claims.scanned(used, s.clock())
	s.stats.Full += uint64(len(changed))
	told := s.claims.tell(changed)
	s.mu.Unlock()
	s.tell(told)
	return nil
}

func (s *session) plan(now time.Duration) []step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims.plan(now, batch)
}

// commit carries out the steps. That it succeeds shows that the lease's
// references stand, which confirms a renewal before it.
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
	if s.renewed != 0 && s.clock() < s.deadline {
		s.deadline = s.renewed
		s.renewed = 0
	}
	s.mu.Unlock()
	s.tell(told)
	return nil
}

func (s *session) tell(told []Change) {
	for _, ch := range told {
		s.config.Log.Info("global stream ids: id changed", "flow", ch.Key, "old", ch.Old, "new", ch.New)
		s.config.Changed(ch)
	}
}

// wait returns when there may be something to do.
func (s *session) wait(ctx context.Context, now time.Duration) {
	until := s.renewAt
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
