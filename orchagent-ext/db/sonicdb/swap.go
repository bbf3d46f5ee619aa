// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
	"sluice/yang/rows"
)

var (
	// ErrChanged means that somebody wrote a row in the meantime: read, and try again.
	ErrChanged = errors.New("the rows have changed in the meantime")

	// ErrUnknown means that the connection failed between a write and its answer: Redis may
	// have written. [DB.Read] shows it, once Redis is back.
	ErrUnknown = errors.New("not known whether the rows were written")
)

// Swap writes all changes or none, and only if Redis still holds those rows as was has
// them; a changed row that was lacks must be missing in Redis. As with Write, of several
// changes of one row the last counts. After an error other than ErrUnknown Redis is
// unchanged.
func (db *DB) Swap(ctx context.Context, was []rows.Row, changes ...Change) error {
	if len(changes) == 0 {
		return nil
	}
	last := make(map[string]Change, len(changes))
	for _, c := range changes {
		last[db.redisKey(c.Row)] = c
	}
	known := make(view, len(was))
	for _, r := range was {
		known[db.redisKey(r)] = r.Fields
	}
	keys := slices.Sorted(maps.Keys(last))

	asked := false
	err := db.client.Watch(ctx, func(tx *redis.Tx) error {
		now, err := db.readWith(ctx, tx, keys)
		if err != nil {
			return err
		}
		orders := make([]order, len(keys))
		for i, k := range keys {
			fields, there := now[k]
			if knew, expected := known[k]; there != expected || !maps.Equal(fields, withoutNull(knew)) {
				return ErrChanged
			}
			has := slices.Collect(maps.Keys(fields))
			if there && len(fields) == 0 {
				has = []string{"NULL"}
			}
			orders[i] = orderOf(k, last[k], has)
		}
		asked = true
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			queue(ctx, pipe, orders)
			return nil
		})
		return err
	}, keys...)

	var answer redis.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrChanged), errors.Is(err, redis.TxFailedErr):
		return ErrChanged
	case asked && !errors.As(err, &answer):
		return fmt.Errorf("write %d rows of %s at %s: %w: %w", len(keys), db.Name, db.Address, ErrUnknown, err)
	}
	return fmt.Errorf("write %d rows of %s at %s: %w", len(keys), db.Name, db.Address, err)
}

// withoutNull returns fields with the placeholder of a row without fields removed.
func withoutNull(fields map[string]string) map[string]string {
	if fields["NULL"] != "NULL" {
		return fields
	}
	fields = maps.Clone(fields)
	delete(fields, "NULL")
	return fields
}
