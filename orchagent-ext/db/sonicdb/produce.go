// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"fmt"
	"maps"

	"github.com/redis/go-redis/v9"
	"sluice/yang/rows"
)

// Names beside a table that another process takes rows from, as ProducerStateTable and
// ConsumerStateTable of sonic-swss-common have them (common/table.h): pending rows are in
// TABLE_KEY_SET and _TABLE:KEY, keys whose row is removed or replaced in TABLE_DEL_SET,
// and TABLE_CHANNEL@ID wakes the consumer.
const (
	keySet  = "_KEY_SET"
	delSet  = "_DEL_SET"
	waiting = "_"
)

// Produce hands rows to the process that consumes their tables, as orchagent does those
// of APPL_DB: all together, in one transaction. A row that is set has exactly the given
// fields afterwards. The consumer takes them at its own time, also when it starts later;
// two changes of a row between its takes are one to it, and a row that is removed and set
// again is a change of it. See [DB.Waits].
func (db *DB) Produce(ctx context.Context, changes ...Change) error {
	_, err := db.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, c := range changes {
			table, wait := c.Row.Table, waiting+db.redisKey(c.Row)
			pipe.SAdd(ctx, table+keySet, c.Row.Key)
			pipe.SAdd(ctx, table+delSet, c.Row.Key)
			pipe.Del(ctx, wait)
			if !c.Deleted {
				pipe.HSet(ctx, wait, stored(c.Row.Fields))
			}
			pipe.Publish(ctx, fmt.Sprintf("%s_CHANNEL@%d", table, db.ID), "G")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("hand over %d rows of %s at %s: %w", len(changes), db.Name, db.Address, err)
	}
	return nil
}

// Produced returns those of the rows that exist, or will once their consumer has taken
// the pending changes, in the order given: Table and Key name them.
func (db *DB) Produced(ctx context.Context, named ...rows.Row) ([]rows.Row, error) {
	taken := make([]*redis.MapStringStringCmd, len(named))
	waits := make([]*redis.MapStringStringCmd, len(named))
	gone := make([]*redis.BoolCmd, len(named))
	_, err := db.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, r := range named {
			taken[i] = pipe.HGetAll(ctx, db.redisKey(r))
			waits[i] = pipe.HGetAll(ctx, waiting+db.redisKey(r))
			gone[i] = pipe.SIsMember(ctx, r.Table+delSet, r.Key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %d rows of %s at %s: %w", len(named), db.Name, db.Address, err)
	}
	var all []rows.Row
	for i, r := range named {
		fields := taken[i].Val()
		if gone[i].Val() {
			fields = map[string]string{}
		}
		maps.Copy(fields, waits[i].Val())
		if len(fields) > 0 {
			all = append(all, rows.Row{Table: r.Table, Key: r.Key, Fields: withoutNull(fields)})
		}
	}
	return all, nil
}

// Waits reports whether a change of a row is still pending at its consumer. The
// consumer's set has the key for as long (ProducerStateTable of sonic-swss-common).
func (db *DB) Waits(ctx context.Context, r rows.Row) (bool, error) {
	waits, err := db.client.SIsMember(ctx, r.Table+keySet, r.Key).Result()
	if err != nil {
		return false, fmt.Errorf("read %s of %s at %s: %w", r.Table+keySet, db.Name, db.Address, err)
	}
	return waits, nil
}

// Waiting returns the keys of a table whose changes its consumer has not taken yet. The
// map is empty where all were taken.
func (db *DB) Waiting(ctx context.Context, table string) (map[string]bool, error) {
	keys, err := db.client.SMembers(ctx, table+keySet).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s of %s at %s: %w", table+keySet, db.Name, db.Address, err)
	}
	all := make(map[string]bool, len(keys))
	for _, key := range keys {
		all[key] = true
	}
	return all, nil
}

// takeOne applies the pending change of one row, and returns the row's key and fields.
var takeOne = redis.NewScript(`
local key = redis.call('SPOP', KEYS[1])
if not key then
	return {}
end
local row, wait = ARGV[1] .. key, ARGV[2] .. ARGV[1] .. key
if redis.call('SREM', KEYS[2], key) == 1 then
	redis.call('DEL', row)
end
local fields = redis.call('HGETALL', wait)
for i = 1, #fields, 2 do
	redis.call('HSET', row, fields[i], fields[i + 1])
end
redis.call('DEL', wait)
table.insert(fields, 1, key)
return fields`)

// Take takes the pending changes of a table, as the table's consumer: other consumers
// miss them. Only the little orchagent of tests may call it.
func (db *DB) Take(ctx context.Context, table string) ([]Change, error) {
	var all []Change
	for {
		answer, err := takeOne.Run(ctx, db.client, []string{table + keySet, table + delSet}, table+db.Separator, waiting).StringSlice()
		if err != nil {
			return all, fmt.Errorf("take what waits of %s of %s at %s: %w", table, db.Name, db.Address, err)
		}
		if len(answer) == 0 {
			return all, nil
		}
		r := rows.Row{Table: table, Key: answer[0]}
		for i := 1; i < len(answer); i += 2 {
			if r.Fields == nil {
				r.Fields = map[string]string{}
			}
			r.Fields[answer[i]] = answer[i+1]
		}
		all = append(all, Change{Row: r, Deleted: r.Fields == nil})
	}
}
