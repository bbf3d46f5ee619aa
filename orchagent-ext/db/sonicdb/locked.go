// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// isLocked reports whether Redis refuses its user default: SONiC's programs use that one,
// without a password, and a program that may write to Redis can lock it.
func isLocked(err error) bool {
	return slices.ContainsFunc([]string{"NOAUTH", "NOPERM", "WRONGPASS"}, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// explain returns an error with its remedy, where it is one of [isLocked]; others as they are.
func (db *DB) explain(err error) error {
	if !isLocked(err) {
		return err
	}
	return fmt.Errorf("%w: Redis at %s has a password (undone by CONFIG SET requirepass \"\"), or its user default has too few rights (ACL LIST): SONiC uses it without a password, with all rights",
		err, db.Address)
}
