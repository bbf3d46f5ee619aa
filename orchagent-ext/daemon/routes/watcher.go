// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/spread/nexthops"
)

// readPause is the least time between two readings of the table: one of thousands of routes takes
// its time.
const readPause = time.Second

// reading is one of the table of routes. It is immutable.
type reading struct {
	table map[netip.Prefix]nexthops.Result
	err   error  // why the table is unknown; nil: it is known
	late  string // warning that changes are seen late; "": they are seen at once
}

// watcher reads the table of routes where it may have changed.
type watcher struct {
	log  *slog.Logger
	last atomic.Pointer[reading]
}

// Report implements [task.Worker]: the last reading; nil before the first.
func (w *watcher) Report() *reading { return w.last.Load() }

// Run implements [task.Worker]. Without a socket for news the table is read again and again.
func (w *watcher) Run(ctx context.Context) error {
	news, err := nexthops.Subscribe()
	var changed <-chan struct{}
	late := ""
	if err == nil {
		defer news.Close()
		changed = news.Changed()
	} else {
		late = "cannot subscribe to routes, so changes are seen late: " + err.Error()
	}
	for {
		r := &reading{late: late}
		r.err = task.Guard(w.log, func() (err error) {
			r.table, err = nexthops.Table()
			return err
		})
		w.last.Store(r)
		if !clock.Sleep(ctx, readPause) {
			return nil
		}
		if r.err != nil || changed == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
