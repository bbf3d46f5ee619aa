// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

// databases are SONiC's, of a Redis of their own.
type databases struct {
	redis                              *privateredis.Server
	appl, asic, counters, config, flex *sonicdb.DB
	state                              *sonicdb.DB
}

// numbers are the ids of SONiC's databases in Redis, as database_config.json has them.
var numbers = []struct {
	name      string
	id        int
	separator string
}{
	{"APPL_DB", 0, ":"}, {"ASIC_DB", 1, ":"}, {"COUNTERS_DB", 2, ":"}, {"LOGLEVEL_DB", 3, ":"}, {"CONFIG_DB", 4, "|"},
	{"PFC_WD_DB", 5, ":"}, {"FLEX_COUNTER_DB", 5, ":"}, {"STATE_DB", 6, "|"}, {"SNMP_OVERLAY_DB", 7, "|"}, {"RESTAPI_DB", 8, "|"},
	{"GB_ASIC_DB", 9, ":"}, {"GB_COUNTERS_DB", 10, ":"}, {"GB_FLEX_COUNTER_DB", 11, ":"}, {"CHASSIS_APP_DB", 12, "|"},
	{"CHASSIS_STATE_DB", 13, "|"}, {"APPL_STATE_DB", 14, ":"},
}

// startDatabases starts Redis in a root, where SONiC's programs look for it.
func startDatabases(r *root) (d *databases, err error) {
	d = &databases{}
	if d.redis, err = privateredis.Start(r.file("run/redis"), "--client-output-buffer-limit", "pubsub 0 0 0"); err != nil {
		return d, err
	}
	var list []string
	for _, n := range numbers {
		list = append(list, fmt.Sprintf("%q: {\"id\": %d, \"separator\": %q, \"instance\": \"redis\"}", n.name, n.id, n.separator))
	}
	text := fmt.Sprintf("{\"INSTANCES\": {\"redis\": {\"hostname\": \"127.0.0.1\", \"port\": 6379, \"unix_socket_path\": \"/var/run/redis/%s\", \"persistence_for_warm_boot\": \"yes\"}},\n\"DATABASES\": {%s},\n\"VERSION\": \"1.0\"}\n",
		filepath.Base(d.redis.Socket), strings.Join(list, ",\n"))
	if err := r.write("run/redis/sonic-db/database_config.json", text); err != nil {
		return d, err
	}
	where, err := sonicdb.Load(d.redis.Config, "")
	if err != nil {
		return d, err
	}
	for name, db := range map[string]**sonicdb.DB{
		"APPL_DB": &d.appl, "ASIC_DB": &d.asic, "COUNTERS_DB": &d.counters, "CONFIG_DB": &d.config, "FLEX_COUNTER_DB": &d.flex, "STATE_DB": &d.state,
	} {
		if *db, err = sonicdb.Open(where, name, slog.New(slog.DiscardHandler)); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (d *databases) close() {
	for _, db := range []*sonicdb.DB{d.appl, d.asic, d.counters, d.config, d.flex, d.state} {
		if db != nil {
			_ = db.Close() // Redis ends next
		}
	}
	if d.redis != nil {
		d.redis.Stop()
	}
}

// cli runs redis-cli on a database.
func (d *databases) cli(name string, args ...string) (string, error) {
	id := -1
	for _, n := range numbers {
		if n.name == name {
			id = n.id
		}
	}
	out, err := exec.Command("redis-cli", append([]string{"-s", d.redis.Socket, "-n", fmt.Sprint(id)}, args...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("redis-cli %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// flush empties databases.
func (d *databases) flush(names ...string) (err error) {
	for _, name := range names {
		_, one := d.cli(name, "FLUSHDB")
		err = errors.Join(err, one)
	}
	return err
}

// fieldsOf makes fields of names and values in turn.
func fieldsOf(pairs []string) map[string]string {
	fields := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	return fields
}

// set writes a row of CONFIG_DB, in place of the one that is there.
func (d *databases) set(ctx context.Context, table, key string, pairs ...string) error {
	return d.config.Write(ctx, sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fieldsOf(pairs)}})
}

// remove removes a row of CONFIG_DB.
func (d *databases) remove(ctx context.Context, table, key string) error {
	return d.config.Write(ctx, sonicdb.Change{Row: rows.Row{Table: table, Key: key}, Deleted: true})
}

// table reads the rows of a table, by key.
func table(ctx context.Context, db *sonicdb.DB, name string) (map[string]map[string]string, error) {
	all, err := db.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]string{}
	for _, r := range all {
		found[r.Key] = r.Fields
	}
	return found, nil
}

// row reads a row; nil: it is absent.
func row(ctx context.Context, db *sonicdb.DB, name, key string) (map[string]string, error) {
	all, err := db.ReadKeys(ctx, name, key)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Key == key {
			return r.Fields, nil
		}
	}
	return nil, nil
}

// Waits. A bar of a check is of its own; patience is for all else, on a machine that has much
// else to do.
const (
	patience = 2 * time.Minute
	poll     = 20 * time.Millisecond
)

// until waits until a condition holds, for at most so long, and returns how long it took. An error
// of the condition ends it.
func until(ctx context.Context, most time.Duration, holds func() (bool, error)) (took time.Duration, ok bool, err error) {
	began := time.Now()
	for {
		ok, err := holds()
		if took = time.Since(began); err != nil || ok || took > most {
			return took, ok, err
		}
		select {
		case <-ctx.Done():
			return took, false, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// must is until with patience, for conditions that later checks build on.
func must(ctx context.Context, what string, holds func() (bool, error)) error {
	took, ok, err := until(ctx, patience, holds)
	if err == nil && !ok {
		err = fmt.Errorf("after %v it does not hold that %s", took.Round(time.Second), what)
	}
	return err
}
