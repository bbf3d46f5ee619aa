// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/host/etcd"
)

// pause is the time between attempts at an etcd that fails.
const pause = 200 * time.Millisecond

// warnEvery is how often the log reports an unreachable etcd.
const warnEvery = time.Minute

// Run takes a lease in etcd, keeps it, and claims ids for the wanted flows, until ctx
// ends. A lost lease is followed by another. After Run all ids are invalid; the keys in
// etcd expire with the lease, so that a daemon that starts again at once finds its flows'
// ids.
func (g *Global) Run(ctx context.Context) error {
	var why etcd.Cause
	for ctx.Err() == nil {
		had, err := g.connected(ctx, &why)
		if ctx.Err() != nil {
			return nil
		}
		g.say(had, err)
		clock.Sleep(ctx, pause)
	}
	return nil
}

// connected connects with the credentials in the files, and takes one lease after another
// until the files change or etcd refuses the connection. It reports whether it had a
// lease.
func (g *Global) connected(ctx context.Context, why *etcd.Cause) (had bool, err error) {
	err = g.config.Connect(ctx, why, func(ctx context.Context, client *clientv3.Client) error {
		for {
			leased, err := g.session(ctx, client)
			had = had || leased
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			g.say(leased, why.Add(err))
			clock.Sleep(ctx, pause)
		}
	})
	return had, err
}

// say keeps the reason of a missing lease, and logs it: at once after a lease, else at
// intervals.
func (g *Global) say(had bool, err error) {
	g.mu.Lock()
	g.reason = err
	g.mu.Unlock()
	level := slog.LevelDebug
	if had || time.Since(g.said) > warnEvery {
		level, g.said = slog.LevelWarn, time.Now()
	}
	g.config.Log.Log(context.Background(), level, "global stream ids: "+ErrLost.Error(), "reason", err)
}
