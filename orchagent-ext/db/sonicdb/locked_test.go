// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestRedisThatIsLocked: who may write to Redis may set a password, or take rights from its
// user default, while sluiced runs. The rows stay as they were, log and errors name the cause
// and the remedy, and what changed meanwhile comes once it is undone.
func TestRedisThatIsLocked(t *testing.T) {
	for name, tt := range map[string]struct{ lock, unlock []any }{
		"requirepass":      {[]any{"CONFIG", "SET", "requirepass", "x"}, []any{"CONFIG", "SET", "requirepass", ""}},
		"user is off":      {[]any{"ACL", "SETUSER", "default", "off"}, []any{"ACL", "SETUSER", "default", "on"}},
		"no commands":      {[]any{"ACL", "SETUSER", "default", "-@all"}, []any{"ACL", "SETUSER", "default", "+@all"}},
		"password by ACL":  {[]any{"ACL", "SETUSER", "default", "resetpass", ">x"}, []any{"ACL", "SETUSER", "default", "nopass"}},
		"no keys are seen": {[]any{"ACL", "SETUSER", "default", "resetkeys"}, []any{"ACL", "SETUSER", "default", "~*"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisServer(t)
			var said log
			db := open(t, s, "CONFIG_DB", slog.New(slog.NewTextHandler(&said, nil)))
			f := follow(t, db, "A")
			f.started(t)
			write(t, db, set("A", "1", nil))
			f.becomes(t, map[string]fields{"A|1": {}})

			ctx := t.Context()
			do := func(c *redis.Client, command ...any) {
				t.Helper()
				if err := c.Do(ctx, command...).Err(); err != nil {
					t.Fatalf("%v: %v", command, err)
				}
			}
			do(db.client, "ACL", "SETUSER", "root", "on", ">secret", "~*", "&*", "+@all")
			root := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket, DB: db.ID, Username: "root", Password: "secret", Protocol: 2})
			t.Cleanup(func() { _ = root.Close() })
			do(root, tt.lock...)
			do(root, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			do(root, "CLIENT", "KILL", "TYPE", "pubsub")
			do(root, "HSET", "A|2", "NULL", "NULL")
			const remedy = "CONFIG SET requirepass"
			eventually(t, "the log names cause and remedy", func() bool {
				text := said.String()
				return strings.Contains(text, "cannot be read") && strings.Contains(text, remedy) && strings.Contains(text, s.Socket)
			})
			if has := f.has(); len(has) != 1 {
				t.Errorf("rows of a locked database: %v", has)
			}
			if err := db.Write(ctx, set("A", "3", nil)); err == nil || !strings.Contains(err.Error(), remedy) {
				t.Errorf("Write: %v", err)
			}
			do(root, tt.unlock...)
			f.becomes(t, map[string]fields{"A|1": {}, "A|2": {}})
		})
	}
}

// TestFirstHourRedisThatIsDownHasARemedy: an error of dialing names the next step, once.
func TestFirstHourRedisThatIsDownHasARemedy(t *testing.T) {
	s := redisServer(t)
	db := open(t, s, "CONFIG_DB", nil)
	dial := &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}
	forbidden := &net.OpError{Op: "dial", Net: "unix", Err: syscall.EACCES}
	var down, denied *RemedyError
	if !errors.As(db.explain(dial), &down) || !errors.As(db.explain(forbidden), &denied) || down.Remedy == denied.Remedy {
		t.Errorf("down: %v; forbidden: %v", down, denied)
	}
	if again := db.explain(fmt.Errorf("read: %w", down)); strings.Count(again.Error(), down.Remedy) != 1 || !errors.Is(again, syscall.ECONNREFUSED) {
		t.Errorf("%v", again)
	}
	if other := errors.New("x"); db.explain(other) != other {
		t.Error("another error is changed")
	}
}
