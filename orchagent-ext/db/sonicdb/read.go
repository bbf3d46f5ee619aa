// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"sluice/yang/rows"
)

// scanCount is how many keys Redis looks at in one step of a scan.
const scanCount = 1000

// view holds the fields of rows by their keys in Redis.
type view map[string]map[string]string

// Read returns all rows of tables, sorted by name. A name that ends in * is that of all
// tables which begin so.
func (db *DB) Read(ctx context.Context, tables ...string) ([]rows.Row, error) {
	v, err := db.readAll(ctx, tables)
	if err != nil {
		return nil, err
	}
	return db.sorted(v), nil
}

// ReadKeys returns those rows of a table whose keys begin with a prefix, sorted by name. It is
// for tables such as ASIC_STATE, which has everything that is on the switch.
func (db *DB) ReadKeys(ctx context.Context, table, prefix string) ([]rows.Row, error) {
	begin := db.redisKey(rows.Row{Table: table, Key: prefix})
	keys, err := db.scan(ctx, glob.Replace(begin)+"*", func(k string) bool { return strings.HasPrefix(k, begin) })
	if err != nil {
		return nil, err
	}
	v, err := db.readKeys(ctx, keys)
	if err != nil {
		return nil, err
	}
	return db.sorted(v), nil
}

// Get returns those of the rows that exist, in the order given: Table and Key name them.
// Unlike [DB.Read] it needs no scan, so its cost is independent of the number of keys in
// the database.
func (db *DB) Get(ctx context.Context, named ...rows.Row) ([]rows.Row, error) {
	keys := make([]string, len(named))
	for i, r := range named {
		keys[i] = db.redisKey(r)
	}
	v, err := db.readKeys(ctx, keys)
	if err != nil {
		return nil, err
	}
	var all []rows.Row
	for _, k := range keys {
		if fields, ok := v[k]; ok {
			all = append(all, db.row(k, fields))
		}
	}
	return all, nil
}

// Text returns the value of a string key, such as CONFIG_DB_INITIALIZED; "" if it is
// missing.
func (db *DB) Text(ctx context.Context, key string) (string, error) {
	value, err := db.client.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) || isWrongType(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s of %s: %w", key, db.Name, err)
	}
	return value, nil
}

// readAll reads all rows of tables: a scan of the keys, and then the rows.
func (db *DB) readAll(ctx context.Context, tables []string) (view, error) {
	keys, err := db.keys(ctx, tables)
	if err != nil {
		return nil, err
	}
	return db.readKeys(ctx, keys)
}

// keys returns the keys of all rows of tables.
func (db *DB) keys(ctx context.Context, tables []string) ([]string, error) {
	return db.scan(ctx, pattern(tables), func(k string) bool {
		table, _, ok := db.split(k)
		return ok && slices.ContainsFunc(tables, func(t string) bool { return isTable(table, t) })
	})
}

// scan returns the keys that match a pattern, and are wanted.
func (db *DB) scan(ctx context.Context, match string, wanted func(key string) bool) ([]string, error) {
	found := make(map[string]bool) // a scan may name a key twice
	var cursor uint64
	for {
		page, next, err := db.client.Scan(ctx, cursor, match, scanCount).Result()
		if err != nil {
			return nil, fmt.Errorf("list the keys of %s at %s: %w", db.Name, db.Address, db.explain(err))
		}
		for _, k := range page {
			if wanted(k) {
				found[k] = true
			}
		}
		if cursor = next; cursor == 0 {
			return slices.Collect(maps.Keys(found)), nil
		}
	}
}

// anyTable ends a name that is that of all tables which begin so.
const anyTable = "*"

// isTable reports whether a table has the name, or begins with it.
func isTable(table, name string) bool {
	prefix, any := strings.CutSuffix(name, anyTable)
	return table == name || any && strings.HasPrefix(table, prefix)
}

// pattern matches the keys of all of these tables, so that a scan sends fewer keys of a
// database that others fill, too: it is the common prefix of their names. It matches
// other keys as well.
func pattern(tables []string) string {
	if len(tables) == 0 {
		return ""
	}
	common := strings.TrimSuffix(tables[0], anyTable)
	for _, t := range tables[1:] {
		t = strings.TrimSuffix(t, anyTable)
		for !strings.HasPrefix(t, common) {
			common = common[:len(common)-1]
		}
	}
	return glob.Replace(common) + "*"
}

// glob takes their meaning from the characters that have one in a pattern of Redis.
var glob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

// readKeys reads rows. Rows that are gone are left out, and so are keys of other types
// than a hash.
func (db *DB) readKeys(ctx context.Context, keys []string) (view, error) {
	return db.readWith(ctx, db.client, keys)
}

// readWith is readKeys on a connection of one's own.
func (db *DB) readWith(ctx context.Context, on pipeliner, keys []string) (view, error) {
	v := make(view, len(keys))
	err := db.readEach(ctx, on, keys, func(key string, fields map[string]string) { v[key] = fields })
	return v, err
}

// pipeliner is a client of Redis, or one of its transactions.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// readEach calls take with each row that readKeys returns, as they come, one after the other. Of many
// rows some are taken while the next ones are read, on a connection beside it; a transaction is for
// one goroutine.
func (db *DB) readEach(ctx context.Context, on pipeliner, keys []string, take func(key string, fields map[string]string)) error {
	var taking sync.Mutex
	read := func(ctx context.Context, part []string) error {
		answers, err := db.ask(ctx, on, part)
		if err != nil {
			return err
		}
		taking.Lock()
		defer taking.Unlock()
		return db.takeEach(part, answers, take)
	}
	if len(keys) <= batch {
		return read(ctx, keys) // another goroutine costs more than it saves
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(1)
	if on == pipeliner(db.client) {
		group.SetLimit(2)
	}
	for part := range slices.Chunk(keys, batch) {
		group.Go(func() error { return read(ctx, part) })
	}
	return group.Wait()
}

// ask reads rows by one pipeline.
func (db *DB) ask(ctx context.Context, on pipeliner, keys []string) ([]*redis.MapStringStringCmd, error) {
	pipe := on.Pipeline()
	answers := make([]*redis.MapStringStringCmd, len(keys))
	for i, k := range keys {
		answers[i] = pipe.HGetAll(ctx, k)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isWrongType(err) {
		return nil, fmt.Errorf("read %d rows of %s at %s: %w", len(keys), db.Name, db.Address, err)
	}
	return answers, nil
}

// takeEach calls take with the rows that there are.
func (db *DB) takeEach(keys []string, answers []*redis.MapStringStringCmd, take func(key string, fields map[string]string)) error {
	for i, k := range keys {
		fields, err := answers[i].Result()
		if isWrongType(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", k, db.Name, err)
		}
		if len(fields) == 0 {
			continue
		}
		if fields["NULL"] == "NULL" {
			delete(fields, "NULL")
		}
		take(k, fields)
	}
	return nil
}

// isWrongType reports whether a key is of another type than a hash.
func isWrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }
