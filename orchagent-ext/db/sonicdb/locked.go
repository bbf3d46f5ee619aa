// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// isLocked reports whether Redis refuses its user default: SONiC's programs use that one,
// without a password, and a program that may write to Redis can lock it.
func isLocked(err error) bool {
	return slices.ContainsFunc([]string{"NOAUTH", "NOPERM", "WRONGPASS"}, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// RemedyError is an error of Redis that an operator can remedy.
type RemedyError struct {
	// Remedy is the step that helps.
	Remedy string
	err    error
}

// Error has the cause, and then the remedy.
func (e *RemedyError) Error() string { return e.err.Error() + ": " + e.Remedy }

// Unwrap returns the cause. So [errors.Is] finds the error of Redis or of the system.
func (e *RemedyError) Unwrap() error { return e.err }

// explain returns a [RemedyError] of a Redis that is down or full, of a socket that this user may
// not open, and of [isLocked]; others as they are.
func (db *DB) explain(err error) error {
	var dial *net.OpError
	var remedied *RemedyError
	switch {
	case errors.As(err, &remedied):
		return err
	case errors.As(err, &dial) && dial.Op == "dial" && errors.Is(err, fs.ErrPermission):
		return &RemedyError{"run this as root, or as a member of the group of the socket", err}
	case errors.As(err, &dial) && dial.Op == "dial":
		return &RemedyError{"start Redis there, or name the file of another one by --db-config", err}
	case err != nil && strings.Contains(err.Error(), "max number of clients reached"):
		return &RemedyError{fmt.Sprintf("Redis at %s takes no more connections: end some (CLIENT LIST shows them), or raise the limit (CONFIG SET maxclients NUMBER)", db.Address), err}
	case isLocked(err):
		return &RemedyError{fmt.Sprintf("Redis at %s has a password (undone by CONFIG SET requirepass \"\"), or its user default has too few rights (ACL LIST): SONiC uses it without a password, with all rights", db.Address), err}
	}
	return err
}
