// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// The costs of bcrypt that a file of users may have. Each step doubles the work:
// 10 takes some 50 ms of a core, 14 some 800 ms.
const (
	MinCost = 10
	MaxCost = 14
)

const (
	// remember is how long after its last use a correct password passes without another
	// hash.
	remember = time.Minute

	// patience is how long a login waits for its turn to be hashed.
	patience = 5 * time.Second
)

// Users are names and passwords.
type Users struct {
	file     *File[*userFile]
	attempts *attempts
	salt     [32]byte

	// turns lets one password at a time be hashed, so that guessing cannot exhaust the
	// switch's CPU: one turn for logins that have succeeded before, and one for all
	// the rest.
	turns [2]chan struct{}

	mu    sync.Mutex
	right map[[sha256.Size]byte]time.Time // until when
}

// userFile is the content of a file of users.
type userFile struct {
	hashes map[string][]byte // by name
	cost   int               // the highest of all hashes
}

// errPassword is one error for a wrong name and a wrong password: clients cannot
// distinguish them.
var errPassword = errors.New("user or password is wrong")

// ErrWait means that a password was refused unchecked, because too many wrong ones came
// from the same address or for the same user, or because too many logins wait.
var ErrWait = errors.New("no more logins for now")

// OpenUsers reads a file of lines NAME:HASH, the hash of bcrypt; empty lines and
// lines that begin with # are ignored.
func OpenUsers(path string, log *slog.Logger) (*Users, error) {
	f, err := Open(log, func() (*userFile, error) { return readUsers(path) }, path)
	if err != nil {
		return nil, err
	}
	u := &Users{file: f, attempts: newAttempts(), right: make(map[[sha256.Size]byte]time.Time)}
	for i := range u.turns {
		u.turns[i] = make(chan struct{}, 1)
	}
	if _, err := rand.Read(u.salt[:]); err != nil {
		return nil, err
	}
	return u, nil
}

// readUsers reads lines NAME:HASH, the hash as bcrypt writes it. Empty lines and those
// after # are left out; the first wrong line is the error.
func readUsers(path string) (*userFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	users := &userFile{hashes: make(map[string][]byte)}
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
		cost, err := bcrypt.Cost([]byte(hash))
		if err != nil {
			return nil, fmt.Errorf("users: %s line %d: the hash of %s must be one of bcrypt, as htpasswd -B makes it: %w", path, n, name, err)
		}
		if cost < MinCost || cost > MaxCost {
			return nil, fmt.Errorf("users: %s line %d: the hash of %s has cost %d; it must be %d to %d, as htpasswd -B -C %d makes it", path, n, name, cost, MinCost, MaxCost, MinCost)
		}
		users.hashes[name] = []byte(hash)
		users.cost = max(users.cost, cost)
	}
	if len(users.hashes) == 0 {
		return nil, fmt.Errorf("users: %s has no user", path)
	}
	return users, nil
}

// Origin is where a client logs in from.
type Origin struct {
	Connection string // its address and port
	Source     netip.Prefix
}

// Check checks the password of a user; it waits for its turn. The error is [ErrWait] for
// a password that was refused unchecked. A password that was correct in the last minute
// passes without another hash. During a wait it passes on the same connection only:
// elsewhere that would distinguish a correct guess from a wrong one.
func (u *Users) Check(ctx context.Context, name, password string, from Origin) error {
	users := u.file.Get()
	here, known := u.digest(users, name, password, from.Connection)
	if known && u.wasRight(here) {
		return nil
	}
	l := pair{name, from.Source}
	if err := u.mayTry(l); err != nil {
		return err
	}
	near, _ := u.digest(users, name, password, from.Source.String())
	if known && u.wasRight(near) {
		u.keep(here)
		return nil
	}
	turn := u.turns[0]
	if u.attempts.knows(l) {
		turn = u.turns[1]
	}
	waits, stop := context.WithTimeout(ctx, patience)
	defer stop()
	select {
	case turn <- struct{}{}:
	case <-waits.Done():
		return fmt.Errorf("%w: too many wait; try again", ErrWait)
	}
	defer func() { <-turn }()
	// another login may have failed while this one waited
	if err := u.mayTry(l); err != nil {
		return err
	}
	if known && u.wasRight(near) {
		u.keep(here)
		return nil
	}
	if !users.compare(name, password) {
		u.attempts.wrong(l, time.Now())
		return errPassword
	}
	u.attempts.right(l, time.Now())
	u.keep(here)
	u.keep(near)
	return nil
}

// Still checks that the password that admitted a connection is still the user's. It is
// cheap enough for each RPC: it looks for the digest of a password that was right before.
func (u *Users) Still(name, password string, from Origin) error {
	digest, known := u.digest(u.file.Get(), name, password, from.Connection)
	if !known || !u.wasRight(digest) {
		return fmt.Errorf("user %q has been removed or has another password", name)
	}
	return nil
}

// mayTry returns [ErrWait] with the time to wait, or nil.
func (u *Users) mayTry(l pair) error {
	wait := u.attempts.wait(l, time.Now())
	if wait <= 0 {
		return nil
	}
	return fmt.Errorf("%w: too many wrong passwords for this user or from this address; try again in %v", ErrWait, wait.Round(time.Second)+time.Second)
}

// digest returns the key under which a correct password is kept. It
// changes with the user's hash. Known reports whether there is such a user.
func (u *Users) digest(users *userFile, name, password, where string) (digest [sha256.Size]byte, known bool) {
	hash, known := users.hashes[name]
	text := append(u.salt[:len(u.salt):len(u.salt)], hash...)
	return sha256.Sum256(fmt.Appendf(text, "%q %q %q", where, name, password)), known
}

// compare checks the password of a user. It takes equally long for each name, so that the
// time hides the names of users and the costs of their hashes.
func (f *userFile) compare(name, password string) (right bool) {
	for i, hash := range f.work(name) {
		same := bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil
		right = right || same && i == 0
	}
	_, known := f.hashes[name]
	return right && known
}

// work returns the hashes to compare with: the user's, and those that add up to the
// work of the file's highest cost, since 2^c + 2^c + 2^(c+1) + … = 2^cost.
func (f *userFile) work(name string) [][]byte {
	hash, known := f.hashes[name]
	if !known {
		return [][]byte{noPassword(f.cost)}
	}
	all := [][]byte{hash}
	cost, _ := bcrypt.Cost(hash) // which readUsers has checked
	for ; cost < f.cost; cost++ {
		all = append(all, noPassword(cost))
	}
	return all
}

// noPassword returns a hash that takes as long as those of a cost.
func noPassword(cost int) []byte {
	return fmt.Appendf(nil, "$2a$%02d$CwTycUXWue0Thq9StjUM0uJ8.5oCj3hUfJgqHUbB0q8QUaKkQZ3Ya", cost)
}

// keep stores the digest of a correct password.
func (u *Users) keep(digest [sha256.Size]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for d, until := range u.right {
		if now.After(until) {
			delete(u.right, d)
		}
	}
	u.right[digest] = now.Add(remember)
}

// wasRight reports whether a password was correct in the last minute, and extends that.
// Only its digest is kept.
func (u *Users) wasRight(digest [sha256.Size]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	until, ok := u.right[digest]
	if ok = ok && now.Before(until); ok {
		u.right[digest] = now.Add(remember)
	}
	return ok
}
