// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// bad is a connection to etcd that loses, delays and repeats requests.
type bad struct {
	*fakeEtcd
	check func() // after each request that was carried out

	mu   sync.Mutex
	rand *rand.Rand
	down bool // nothing gets through
	good bool // everything does
}

func (b *bad) cut(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

func (b *bad) heal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.good = true
}

var errBroken = errors.New("connection broken")

// fate is what becomes of one request.
type fate struct {
	before, after time.Duration // that it takes on the way there and back
	never         bool          // it does not arrive
	silent        bool          // the answer does not
	again         time.Duration // it arrives once more behind that; 0: it does not
}

func (b *bad) fate() fate {
	b.mu.Lock()
	defer b.mu.Unlock()
	ms := func(n int) time.Duration { return time.Duration(1+b.rand.IntN(n)) * time.Millisecond }
	f := fate{before: ms(20), after: ms(20)}
	switch n := b.rand.IntN(20); {
	case b.good:
	case b.down:
		f.never, f.silent = true, true
	case n == 0:
		f.never, f.silent = true, b.rand.IntN(2) == 0
	case n == 1:
		f.silent = true
	case n == 2: // carried out after its caller has given up
		f.before = ms(20_000)
	case n == 3:
		f.after = ms(5_000)
	case n == 4:
		f.again = ms(20_000)
	}
	return f
}

// ask lets a request have its fate: do carries it out.
func (b *bad) ask(ctx context.Context, do func() error) error {
	f := b.fate()
	answer := make(chan error, 1)
	go func() {
		time.Sleep(f.before)
		if f.never {
			if !f.silent {
				answer <- errBroken
			}
			return
		}
		err := do()
		b.check()
		go func() {
			time.Sleep(f.after)
			if !f.silent {
				answer <- err
			}
		}()
		if f.again > 0 {
			time.Sleep(f.again)
			do() //nolint:errcheck // the answer is dropped
			b.check()
		}
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call asks for something and returns the first answer.
func call[T any](ctx context.Context, b *bad, do func() (T, error)) (T, error) {
	first := make(chan T, 2)
	err := b.ask(ctx, func() error {
		v, err := do()
		select {
		case first <- v:
		default:
		}
		return err
	})
	var none T
	if err != nil {
		return none, err
	}
	return <-first, nil
}

func (b *bad) Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	return call(ctx, b, func() (*clientv3.LeaseGrantResponse, error) { return b.fakeEtcd.Grant(ctx, seconds) })
}

func (b *bad) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	return call(ctx, b, func() (*clientv3.LeaseKeepAliveResponse, error) { return b.fakeEtcd.KeepAliveOnce(ctx, id) })
}

func (b *bad) TimeToLive(ctx context.Context, id clientv3.LeaseID, opts ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	return call(ctx, b, func() (*clientv3.LeaseTimeToLiveResponse, error) { return b.fakeEtcd.TimeToLive(ctx, id, opts...) })
}

func (b *bad) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	return call(ctx, b, func() (clientv3.OpResponse, error) { return b.fakeEtcd.Do(ctx, op) })
}
