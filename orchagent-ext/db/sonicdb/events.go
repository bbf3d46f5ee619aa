// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// mostDirty is how many rows are read one by one; of more, all are read.
const mostDirty = 20000

// events collects changes until take is called.
type events struct {
	wake chan struct{} // of capacity 1

	mu      sync.Mutex
	dirty   map[string]bool // keys
	all     bool            // every row may have changed
	changes uint64          // that came
	err     error           // the stream has ended
}

// change changes the state under its lock and wakes the reader.
func (e *events) change(f func()) {
	e.mu.Lock()
	f()
	e.changes++
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// key records a change of a key. Above mostDirty of them everything is to be read, which
// bounds the memory.
func (e *events) key(k string) {
	e.change(func() {
		if e.dirty[k] = true; len(e.dirty) > mostDirty {
			clear(e.dirty)
			e.all = true
		}
	})
}

// everything records that all rows are to be read.
func (e *events) everything() { e.change(func() { e.all = true }) }

// fail records the error of the subscription.
func (e *events) fail(err error) { e.change(func() { e.err = err }) }

// take returns the keys to read since the last take, or all, the count of changes that ever came, and the
// error of the subscription.
func (e *events) take() (keys []string, all bool, changes uint64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys, all, err = slices.Collect(maps.Keys(e.dirty)), e.all, e.err
	clear(e.dirty)
	e.all = false
	return keys, all, e.changes, err
}

// few returns the keys that take would, and its count of changes; nil: they are more than most, or all
// is to be read.
func (e *events) few(most int) (keys []string, changes uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.all && len(e.dirty) <= most {
		keys = slices.Collect(maps.Keys(e.dirty))
	}
	return keys, e.changes
}

// subscribe asks for events of the tables and collects them until stop is called. Once
// Redis has confirmed all patterns, everything is to be read, and again when it confirms
// one once more, which means a new connection. (Channel of go-redis drops events if its
// reader is slow; Receive keeps them.)
func (w *watcher) subscribe(ctx context.Context) (e *events, stop func()) {
	prefix := fmt.Sprintf("__keyspace@%d__:", w.db.ID)
	var patterns []string
	for _, table := range w.tables {
		patterns = append(patterns, prefix+table+w.db.Separator+"*")
	}
	e = &events{wake: make(chan struct{}, 1), dirty: make(map[string]bool)}
	// Its error is Receive's as well.
	sub := w.db.client.PSubscribe(ctx, patterns...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		confirmed := 0
		for {
			m, err := sub.Receive(ctx)
			if err != nil {
				e.fail(fmt.Errorf("receive events of %s at %s: %w", w.db.Name, w.db.Address, err))
				return
			}
			switch m := m.(type) {
			case *redis.Subscription:
				if confirmed++; confirmed >= len(patterns) {
					e.everything()
				}
			case *redis.Message:
				e.key(strings.TrimPrefix(m.Channel, prefix))
			}
		}
	}()
	return e, func() {
		_ = sub.Close() // ends Receive
		<-done
	}
}

// optionEvents is Redis' setting of the kinds of events that it sends.
const optionEvents = "notify-keyspace-events"

// checkEvents checks whether Redis sends events, which is off by default, and logs a
// change. A Redis that hides its settings counts as one with events off.
func (w *watcher) checkEvents(ctx context.Context) error {
	answer, err := w.db.client.ConfigGet(ctx, optionEvents).Result()
	if err != nil && !isRefusal(err) {
		return fmt.Errorf("ask %s at %s for its events: %w", w.db.Name, w.db.Address, err)
	}
	silent := !enough(answer[optionEvents])
	w.db.silent.Store(silent)
	if silent == w.silent {
		return nil
	}
	w.silent = silent
	if !silent {
		w.db.log.Info("Redis sends events now")
		return nil
	}
	w.db.log.Warn("Redis sends no events for keys: polling instead", "every", w.db.timing.poll, "remedy", w.db.eventsRemedy())
	return nil
}

// isRefusal reports whether Redis is up and lacks or forbids the command.
func isRefusal(err error) bool {
	return redis.HasErrorPrefix(err, "unknown command") || redis.HasErrorPrefix(err, "NOPERM")
}

// enough reports whether flags of notify-keyspace-events bring every change of
// a hash: keyspace events of all kinds, or of hashes, of any type and expiry.
func enough(flags string) bool {
	all := func(want string) bool {
		return !slices.ContainsFunc([]byte(want), func(c byte) bool { return strings.IndexByte(flags, c) < 0 })
	}
	return all("KA") || all("Kghx")
}
