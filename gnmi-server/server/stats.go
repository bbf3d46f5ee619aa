// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"sluice/gnmi-server/sessions"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

const (
	// tableStats is the table of COUNTERS_DB that shows a server's counters.
	tableStats = "SLUICE_GNMI_STATS"

	statsInterval = time.Second
)

// Stats counts since the start.
type Stats struct {
	Connections sessions.Stats
	Unknown     atomic.Int64 // RPCs that lack a user with the right to connect
	Streams     atomic.Int64 // Subscribe RPCs that are open
	// Slow: Subscribe RPCs ended since their client did not keep up
	Slow atomic.Int64
	// Revoked: RPCs ended since their user or the policy has changed
	Revoked atomic.Int64
	// Delayed: reads that waited, since their client had read too much
	Delayed atomic.Int64
	Sets    atomic.Int64 // that were written
	Refused atomic.Int64 // Sets that failed
}

// row returns the counters as the row of COUNTERS_DB.
func (s *Stats) row() rows.Row {
	fields := map[string]string{"clients_refused": fmt.Sprint(s.Unknown.Load() + s.Connections.Refused.Load())}
	for name, v := range map[string]*atomic.Int64{
		"sessions": &s.Connections.Open, "sessions_refused": &s.Connections.TooMany, "sessions_dropped": &s.Connections.Dropped,
		"logins_waiting": &s.Connections.Waiting, "logins_ended": &s.Connections.Ended,
		"streams": &s.Streams, "streams_slow": &s.Slow, "streams_revoked": &s.Revoked,
		"reads_delayed": &s.Delayed, "sets": &s.Sets, "sets_refused": &s.Refused,
	} {
		fields[name] = fmt.Sprint(v.Load())
	}
	return rows.Row{Table: tableStats, Key: "global", Fields: fields}
}

// publish writes the counters to COUNTERS_DB until ctx is done, and then removes them.
func (s *Server) publish(ctx context.Context) error {
	mirror := sonicdb.NewMirror(s.Databases["COUNTERS_DB"], tableStats)
	mirror.Set(s.Stats.row())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return mirror.Run(ctx) })
	group.Go(func() error {
		tick := time.NewTicker(statsInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				mirror.Set(s.Stats.row())
			}
		}
	})
	if err := group.Wait(); err != nil {
		return err
	}
	mirror.Delete(tableStats, "global")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), statsInterval)
	defer cancel()
	// Redis may be gone; the next server writes the row again
	_ = mirror.Flush(last)
	return nil
}
