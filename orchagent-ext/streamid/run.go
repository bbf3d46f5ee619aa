// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// pause is between attempts at an etcd that does not answer as it should.
const pause = 200 * time.Millisecond

// warnEvery is how often the log tells of an etcd that is not there.
const warnEvery = time.Minute

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
		err = why.add(err)
		g.mu.Lock()
		g.reason = err
		g.mu.Unlock()
		level := slog.LevelDebug
		if had || time.Since(said) > warnEvery {
			level, said = slog.LevelWarn, time.Now()
		}
		g.config.Log.Log(ctx, level, "global stream ids: "+ErrLost.Error(), "reason", err)
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
