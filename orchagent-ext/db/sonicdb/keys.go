// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"maps"
	"net"
	"slices"
	"strings"

	"sluice/yang/rows"
)

// redisKey returns the key of a row in Redis. A hash outside of tables, such as
// COUNTERS_PORT_NAME_MAP, has its name as table and an empty key.
func (d *Database) redisKey(r rows.Row) string {
	if r.Key == "" {
		return r.Table
	}
	return r.Table + d.Separator + r.Key
}

// split returns table and key of a row's key in Redis.
func (d *Database) split(redisKey string) (table, key string, ok bool) {
	return strings.Cut(redisKey, d.Separator)
}

// row returns the row of a key.
func (d *Database) row(redisKey string, fields map[string]string) rows.Row {
	table, key, _ := d.split(redisKey)
	return rows.Row{Table: table, Key: key, Fields: fields}
}

// sorted returns the rows of a view in the order of their keys.
func (d *Database) sorted(v view) []rows.Row {
	all := make([]rows.Row, 0, len(v))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		all = append(all, d.row(k, v[k]))
	}
	return all
}

// eventsRemedy is the command that has Redis send events.
func (d *Database) eventsRemedy() string {
	at := "-s " + d.Address
	if host, port, err := net.SplitHostPort(d.Address); err == nil && d.Network == "tcp" {
		at = "-h " + host + " -p " + port
	}
	return "redis-cli " + at + " config set " + optionEvents + " KEA"
}
