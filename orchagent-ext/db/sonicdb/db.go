// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// DB is a database. Its methods may be called at the same time. [Open] makes one.
type DB struct {
	Database
	client *redis.Client
	log    *slog.Logger
	timing timing
	silent atomic.Bool // events for keys are off in Redis
}

// timing has the times that tests shorten.
type timing struct {
	quiet    time.Duration // after a change that others came just before, until it is taken
	debounce time.Duration // after the first change, while others follow
	resync   time.Duration // everything is read again, also beside events
	poll     time.Duration // the same where events are off in Redis; then it is asked again
	backoff  time.Duration // after the first failure; doubles
	longest  time.Duration // backoff
}

// defaultTiming bounds the delay of changes: one after a pause of quiet is taken at once, of others in quick
// succession all that come within debounce, and a full reading each resync finds events that Redis lost (its
// notifications are fire and forget, Redis "Keyspace notifications"). Attempts to connect are backoff apart,
// doubled up to longest.
var defaultTiming = timing{
	quiet:    time.Millisecond,
	debounce: 10 * time.Millisecond,
	resync:   time.Minute,
	poll:     time.Second,
	backoff:  50 * time.Millisecond,
	longest:  500 * time.Millisecond,
}

// gather waits until changes have come to an end, or long enough for those that came to be taken. wake
// has each of them. It returns false where ctx ended first.
func (t *timing) gather(ctx context.Context, wake <-chan struct{}) bool {
	end, quiet := time.NewTimer(t.debounce), time.NewTimer(t.quiet)
	defer end.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end.C:
			return true
		case <-quiet.C:
			return true
		case <-wake:
			quiet.Reset(t.quiet)
		}
	}
}

const (
	batch = 500 // commands a pipeline

	// Redis answers within milliseconds; one that takes longer than this hangs.
	ioTimeout = 5 * time.Second
)

// quiet silences the log of go-redis on stderr, whose content is in the errors of this
// package.
type quiet struct{}

// Printf implements go-redis' logger.
func (quiet) Printf(context.Context, string, ...any) {}

// Open returns the database of a name. It connects at the first use, so Redis may start
// later. A nil log discards. Close it in the end.
func Open(d *Databases, name string, log *slog.Logger) (*DB, error) {
	at, err := d.Database(name)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	redis.SetLogger(quiet{})
	client := redis.NewClient(&redis.Options{
		Network: at.Network, Addr: at.Address, DB: at.ID, Dialer: dial,
		// SONiC's Redis may be older than RESP3. Retries are this package's: each begins
		// with reading everything.
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		DialTimeout:              ioTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
		ContextTimeoutEnabled: true,
		PoolSize:              4,
	})
	return &DB{Database: at, client: client, log: log.With("database", name), timing: defaultTiming}, nil
}

// Warning returns a fault of the database's settings for the operator, or "".
func (db *DB) Warning() string {
	if !db.silent.Load() {
		return ""
	}
	return fmt.Sprintf("Redis sends no events for keys of %s, which is read every %v instead: %s", db.Name, db.timing.poll, db.eventsRemedy())
}

// Close closes the connections. Calls that are under way fail.
func (db *DB) Close() error { return db.client.Close() }

// Ping reports whether Redis answers. The error names database and address, and has a
// [RemedyError] where an operator can help.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("reach %s at %s: %w", db.Name, db.Address, db.explain(err))
	}
	return nil
}
