package sonicdb

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
	"sluice/yang/rows"
)

// scanCount is how many keys Redis looks at in one step of a scan.
const scanCount = 1000

// view holds the fields of rows by what Redis calls them.
type view map[string]map[string]string

// Read returns all rows of tables, sorted by name.
func (db *DB) Read(ctx context.Context, tables ...string) ([]rows.Row, error) {
	v, err := db.readAll(ctx, tables)
	if err != nil {
		return nil, err
	}
	all := make([]rows.Row, 0, len(v))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		all = append(all, db.row(k, v[k]))
	}
	return all, nil
}

// Get returns the rows of those tables and keys, in the same order; one that is
// not there has nil fields. A hash such as COUNTERS_PORT_NAME_MAP is a table
// without key.
func (db *DB) Get(ctx context.Context, wanted ...rows.Row) ([]rows.Row, error) {
	keys := make([]string, len(wanted))
	for i, r := range wanted {
		keys[i] = db.redisKey(r)
	}
	v, err := db.readKeys(ctx, keys)
	if err != nil {
		return nil, err
	}
	found := make([]rows.Row, len(wanted))
	for i, r := range wanted {
		found[i] = rows.Row{Table: r.Table, Key: r.Key, Fields: v[keys[i]]}
	}
	return found, nil
}

func (db *DB) row(redisKey string, fields map[string]string) rows.Row {
	table, key, _ := db.split(redisKey)
	return rows.Row{Table: table, Key: key, Fields: fields}
}

func (db *DB) readAll(ctx context.Context, tables []string) (view, error) {
	keys, err := db.keys(ctx, tables)
	if err != nil {
		return nil, err
	}
	return db.readKeys(ctx, keys)
}

// keys returns the keys of all rows of tables.
func (db *DB) keys(ctx context.Context, tables []string) ([]string, error) {
	wanted := make(map[string]bool)
	for _, t := range tables {
		wanted[t] = true
	}
	found := make(map[string]bool) // a scan may name a key twice
	var cursor uint64
	for {
		page, next, err := db.client.Scan(ctx, cursor, "", scanCount).Result()
		if err != nil {
			return nil, fmt.Errorf("list the keys of %s at %s: %w", db.Name, db.Address, err)
		}
		for _, k := range page {
			if table, _, ok := db.split(k); ok && wanted[table] {
				found[k] = true
			}
		}
		if cursor = next; cursor == 0 {
			return slices.Collect(maps.Keys(found)), nil
		}
	}
}

// readKeys reads rows; those that are not there (any more) are not in the
// result, nor is what is no row but has a row's name.
func (db *DB) readKeys(ctx context.Context, keys []string) (view, error) {
	return db.readWith(ctx, db.client, keys)
}

// readWith is readKeys on a connection of one's own.
func (db *DB) readWith(ctx context.Context, on interface{ Pipeline() redis.Pipeliner }, keys []string) (view, error) {
	v := make(view, len(keys))
	for part := range slices.Chunk(keys, batch) {
		pipe := on.Pipeline()
		answers := make([]*redis.MapStringStringCmd, len(part))
		for i, k := range part {
			answers[i] = pipe.HGetAll(ctx, k)
		}
		if _, err := pipe.Exec(ctx); err != nil && !isWrongType(err) {
			return nil, fmt.Errorf("read %d rows of %s at %s: %w", len(part), db.Name, db.Address, err)
		}
		for i, k := range part {
			fields, err := answers[i].Result()
			if isWrongType(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read %s of %s: %w", k, db.Name, err)
			}
			if len(fields) == 0 {
				continue
			}
			if fields["NULL"] == "NULL" {
				delete(fields, "NULL")
			}
			v[k] = fields
		}
	}
	return v, nil
}

func isWrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }
