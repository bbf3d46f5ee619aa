// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"sluice/yang/rows"
)

// order is a row to write: deleted, or fields set and removed, or the whole row.
type order struct {
	key    string
	set    map[string]string
	remove []string
	delete bool
}

// Write applies changes: a row that is set has exactly the given fields afterwards, a row
// that is deleted is gone. Each row changes at once for readers; of several rows some may
// be written when an error is returned. Of several changes of one row the last counts.
func (db *DB) Write(ctx context.Context, changes ...Change) error {
	last := make(map[string]int, len(changes))
	for i, c := range changes {
		last[db.redisKey(c.Row)] = i
	}
	var each []Change
	for i, c := range changes {
		if last[db.redisKey(c.Row)] == i {
			each = append(each, c)
		}
	}
	for part := range slices.Chunk(each, batch) {
		pipe := db.client.Pipeline()
		has := make([]*redis.StringSliceCmd, len(part))
		for i, c := range part {
			has[i] = pipe.HKeys(ctx, db.redisKey(c.Row))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("read %d rows of %s at %s before writing: %w", len(part), db.Name, db.Address, db.explain(err))
		}
		orders := make([]order, len(part))
		for i, c := range part {
			orders[i] = orderOf(db.redisKey(c.Row), c, has[i].Val())
		}
		if err := db.execute(ctx, orders); err != nil {
			return err
		}
	}
	return nil
}

// Amend sets fields of a row and removes others, whatever else it has. It is one
// pipeline, and creates a row that is missing.
func (db *DB) Amend(ctx context.Context, r rows.Row, remove ...string) error {
	return db.execute(ctx, []order{{key: db.redisKey(r), set: r.Fields, remove: remove}})
}

// orderOf returns the commands that turn a row with the fields has into the row of c.
func orderOf(key string, c Change, has []string) order {
	if c.Deleted {
		return order{key: key, delete: true}
	}
	o := order{key: key, set: stored(c.Row.Fields)}
	for _, field := range has {
		if _, ok := o.set[field]; !ok {
			o.remove = append(o.remove, field)
		}
	}
	return o
}

// stored returns fields as Redis holds them, where a row without fields has the
// placeholder NULL.
func stored(fields map[string]string) map[string]string {
	if len(fields) == 0 {
		return map[string]string{"NULL": "NULL"}
	}
	return fields
}

// execute carries out orders, a pipeline of them as one transaction.
func (db *DB) execute(ctx context.Context, orders []order) error {
	for part := range slices.Chunk(orders, batch) {
		_, err := db.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			queue(ctx, pipe, part)
			return nil
		})
		if err != nil {
			return fmt.Errorf("write %d rows of %s at %s: %w", len(part), db.Name, db.Address, db.explain(err))
		}
	}
	return nil
}

// queue puts orders into a pipeline.
func queue(ctx context.Context, pipe redis.Pipeliner, orders []order) {
	for _, o := range orders {
		if o.delete {
			pipe.Del(ctx, o.key)
		}
		if o.set != nil {
			pipe.HSet(ctx, o.key, o.set)
		}
		if len(o.remove) > 0 {
			pipe.HDel(ctx, o.key, o.remove...)
		}
	}
}
