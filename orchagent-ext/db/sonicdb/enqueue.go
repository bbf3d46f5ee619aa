// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"sluice/yang/rows"
)

// Names of a table whose consumer takes changes in their order, as ConsumerTable of
// sonic-swss-common does: a list with key, fields and operation of each change.
const (
	opQueue = "_KEY_VALUE_OP_QUEUE"
	opSet   = "SSET"
	opDel   = "DDEL"
)

// enqueue hands changes to consumers, all or none: for each a list, a channel, a key, fields, and
// an operation.
var enqueue = redis.NewScript(`
for i = 1, #ARGV, 5 do
	redis.call('LPUSH', ARGV[i], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
	redis.call('PUBLISH', ARGV[i + 1], 'G')
end`)

// Enqueue hands rows to the process that consumes their tables in order, as syncd does those of
// FLEX_COUNTER_DB. A row that is set keeps the fields that it had besides. See [DB.Enqueued].
func (db *DB) Enqueue(ctx context.Context, changes ...Change) error {
	args := make([]any, 0, 5*len(changes))
	for _, c := range changes {
		fields, op := "{}", opDel
		if !c.Deleted {
			list := make([]string, 0, 2*len(c.Row.Fields))
			for _, name := range slices.Sorted(maps.Keys(c.Row.Fields)) {
				list = append(list, name, c.Row.Fields[name])
			}
			text, err := json.Marshal(list)
			if err != nil {
				return fmt.Errorf("write %s as JSON: %w", c.Row.Name(), err)
			}
			fields, op = string(text), opSet
		}
		args = append(args, c.Row.Table+opQueue, fmt.Sprintf("%s_CHANNEL@%d", c.Row.Table, db.ID), c.Row.Key, fields, op)
	}
	if err := enqueue.Run(ctx, db.client, nil, args...).Err(); err != nil && err != redis.Nil {
		return fmt.Errorf("hand over %d rows of %s at %s: %w", len(changes), db.Name, db.Address, err)
	}
	return nil
}

// Enqueued returns those of the rows that exist, or will once their consumer has taken the
// changes that wait, in the order given: Table and Key name them.
func (db *DB) Enqueued(ctx context.Context, named ...rows.Row) ([]rows.Row, error) {
	there, err := db.Get(ctx, named...)
	if err != nil {
		return nil, err
	}
	fields := map[string]map[string]string{}
	for _, r := range there {
		fields[r.Name()] = r.Fields
	}
	read := map[string]bool{}
	for _, r := range named {
		if !read[r.Table] {
			read[r.Table] = true
			if err := db.overlay(ctx, r.Table, fields); err != nil {
				return nil, err
			}
		}
	}
	var all []rows.Row
	for _, r := range named {
		if f, ok := fields[r.Name()]; ok {
			all = append(all, rows.Row{Table: r.Table, Key: r.Key, Fields: f})
		}
	}
	return all, nil
}

// EnqueuedKeys returns the names of the rows of a table whose keys begin with a prefix, those
// included that wait to be taken or to be removed; sorted.
func (db *DB) EnqueuedKeys(ctx context.Context, table, prefix string) ([]rows.Row, error) {
	there, err := db.ReadKeys(ctx, table, prefix)
	if err != nil {
		return nil, err
	}
	fields := map[string]map[string]string{}
	if err := db.overlay(ctx, table, fields); err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, r := range there {
		keys[r.Key] = true
	}
	for name := range fields {
		if key := strings.TrimPrefix(name, rows.Row{Table: table}.Name()); strings.HasPrefix(key, prefix) {
			keys[key] = true
		}
	}
	var named []rows.Row
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		named = append(named, rows.Row{Table: table, Key: key})
	}
	return named, nil
}

// EnqueuedWaits reports whether the consumer of a table has yet to take a change of a row whose key
// begins with a prefix.
func (db *DB) EnqueuedWaits(ctx context.Context, table, prefix string) (bool, error) {
	list, err := db.waiting(ctx, table)
	for i := len(list) - 1; i >= 2; i -= 3 {
		if strings.HasPrefix(list[i], prefix) {
			return true, nil
		}
	}
	return false, err
}

// waiting returns the changes that wait at the consumer of a table: operation, fields and key of each,
// the newest first.
func (db *DB) waiting(ctx context.Context, table string) ([]string, error) {
	list, err := db.client.LRange(ctx, table+opQueue, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s of %s at %s: %w", table+opQueue, db.Name, db.Address, err)
	}
	return list, nil
}

// overlay makes the changes that wait at the consumer of a table in a map of fields by the
// names of rows.
func (db *DB) overlay(ctx context.Context, table string, fields map[string]map[string]string) error {
	list, err := db.waiting(ctx, table)
	if err != nil {
		return err
	}
	for i := len(list) - 1; i >= 2; i -= 3 { // the oldest one is the last
		name := rows.Row{Table: table, Key: list[i]}.Name()
		if strings.HasPrefix(list[i-2], "D") {
			delete(fields, name)
			continue
		}
		var words []string
		if json.Unmarshal([]byte(list[i-1]), &words) != nil {
			continue // of another process, and its consumer refuses it
		}
		if fields[name] == nil {
			fields[name] = map[string]string{}
		}
		for j := 0; j+1 < len(words); j += 2 {
			fields[name][words[j]] = words[j+1]
		}
	}
	return nil
}

// dequeue applies the oldest change of a table, and returns the row's key, the operation and the fields.
var dequeue = redis.NewScript(`
local oldest = redis.call('LRANGE', KEYS[1], -3, -1)
if #oldest < 3 then
	return {}
end
redis.call('LTRIM', KEYS[1], 0, -4)
local row, fields = ARGV[1] .. oldest[3], cjson.decode(oldest[2])
if oldest[1]:sub(1, 1) == 'D' then
	redis.call('DEL', row)
end
for i = 1, #fields, 2 do
	redis.call('HSET', row, fields[i], fields[i + 1])
end
table.insert(fields, 1, oldest[1])
table.insert(fields, 1, oldest[3])
return fields`)

// Dequeue takes the changes of a table that wait, as its consumer. Only the little syncd of tests
// may call it.
func (db *DB) Dequeue(ctx context.Context, table string) ([]Change, error) {
	var all []Change
	for {
		answer, err := dequeue.Run(ctx, db.client, []string{table + opQueue}, table+db.Separator).StringSlice()
		if err != nil {
			return all, fmt.Errorf("take what waits of %s of %s at %s: %w", table, db.Name, db.Address, err)
		}
		if len(answer) < 2 {
			return all, nil
		}
		c := Change{Row: rows.Row{Table: table, Key: answer[0], Fields: map[string]string{}}, Deleted: strings.HasPrefix(answer[1], "D")}
		for i := 2; i+1 < len(answer); i += 2 {
			c.Row.Fields[answer[i]] = answer[i+1]
		}
		all = append(all, c)
	}
}
