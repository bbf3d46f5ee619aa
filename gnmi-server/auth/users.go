// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// remember is for how long a password that was right is not hashed again: bcrypt
// takes 50 ms of a core and more, by design.
const remember = time.Minute

// Users are names and passwords.
type Users struct {
	file *file[map[string][]byte]
	work chan struct{} // one hash at a time, so that guessing cannot take the switch's CPU
	salt [32]byte

	mu    sync.Mutex
	right map[[sha256.Size]byte]time.Time // until when
}

// errPassword is one error for a wrong name and a wrong password: which, no
// client is told.
var errPassword = errors.New("user or password is wrong")

// none is compared with where there is no such user, so that it takes as long.
var none = []byte("$2a$10$CwTycUXWue0Thq9StjUM0uJ8.5oCj3hUfJgqHUbB0q8QUaKkQZ3Ya")

// OpenUsers reads a file of lines NAME:HASH, the hash of bcrypt; lines that are
// empty or begin with # are left out.
func OpenUsers(path string, log *slog.Logger) (*Users, error) {
	f, err := open(log, func() (map[string][]byte, error) { return readUsers(path) }, path)
	if err != nil {
		return nil, err
	}
	u := &Users{file: f, work: make(chan struct{}, 1), right: make(map[[sha256.Size]byte]time.Time)}
	if _, err := rand.Read(u.salt[:]); err != nil {
		return nil, err
	}
	return u, nil
}

func readUsers(path string) (map[string][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	users := make(map[string][]byte)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, hash, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			return nil, fmt.Errorf("users: %s line %d: must be NAME:HASH", path, n)
		}
		if _, err := bcrypt.Cost([]byte(hash)); err != nil {
			return nil, fmt.Errorf("users: %s line %d: the hash of %s must be one of bcrypt, as htpasswd -B makes it: %w", path, n, name, err)
		}
		users[name] = []byte(hash)
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("users: %s has none", path)
	}
	return users, nil
}

// Check says whether a password is that of a user; it waits for its turn until
// ctx is done.
func (u *Users) Check(ctx context.Context, name, password string) error {
	hash, known := u.file.get()[name]
	if !known {
		hash = none
	}
	digest := sha256.Sum256(append(append(append(u.salt[:len(u.salt):len(u.salt)], hash...), name+"\x00"...), password...))
	if known && u.wasRight(digest) {
		return nil
	}
	select {
	case u.work <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := bcrypt.CompareHashAndPassword(hash, []byte(password))
	<-u.work
	if err != nil || !known {
		return errPassword
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for d, until := range u.right {
		if now.After(until) {
			delete(u.right, d)
		}
	}
	u.right[digest] = now.Add(remember)
	return nil
}

func (u *Users) wasRight(digest [sha256.Size]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	until, ok := u.right[digest]
	return ok && time.Now().Before(until)
}
