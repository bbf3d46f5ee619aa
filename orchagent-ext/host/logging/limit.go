// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// most is how many lines of one message are written in an interval: a client that floods
	// a port of Sluice, or writes bad rows in a loop, cannot fill the disk.
	most     = 300
	interval = time.Minute

	// mostMessages is how many messages are counted. Some quote other programs.
	mostMessages = 1000
)

// limited drops lines of one message above the limit; the next line that is written has
// their number. Lines of level debug always pass.
type limited struct {
	slog.Handler
	counts *counts
}

// counts are of all handlers that were made of one.
type counts struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*count
}

// count is of one message in an interval.
type count struct {
	since   time.Time
	n, left int
}

// limit returns a handler that limits the lines of each message.
func limit(h slog.Handler, now func() time.Time) slog.Handler {
	return limited{h, &counts{now: now, all: map[string]*count{}}}
}

// Handle implements [slog.Handler].
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		left, ok := l.counts.take(r.Message)
		if !ok {
			return nil
		}
		if left > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("left_out_before", left))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// take reports whether a message may be written, and how many of it were dropped since
// the last one.
func (c *counts) take(message string) (left int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, m := c.now(), c.all[message]
	if m == nil {
		if len(c.all) >= mostMessages {
			clear(c.all)
		}
		m = &count{since: now}
		c.all[message] = m
	}
	if now.Sub(m.since) >= interval {
		left = m.left
		*m = count{since: now}
	}
	if m.n == most {
		m.left++
		return 0, false
	}
	m.n++
	return left, true
}

// WithAttrs implements [slog.Handler]; the counts are common to all derived handlers.
func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.counts}
}

// WithGroup implements [slog.Handler].
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.counts}
}
