// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Tables of Sluice's rows. orchagent takes ACLs from CONFIG_DB, where they are the
// operator's, and from APPL_DB, where they are those of SONiC's processes
// (orchdaemon.cpp, acl_table_connectors). Sluice's are in APPL_DB: PACKET_ACTION=COPY,
// which orchagent takes, is missing in sonic-acl.yang, and one row that is invalid by
// YANG makes SONiC refuse every patch, rollback, `config reload FILE` and installation of
// a package. Besides, `config save` leaves them out.
const (
	tableType   = "ACL_TABLE_TYPE_TABLE"
	tableACL    = "ACL_TABLE_TABLE"
	tableRule   = "ACL_RULE_TABLE"
	tableMirror = "MIRROR_SESSION" // is taken from CONFIG_DB alone
)

// operators are the tables of CONFIG_DB with the operator's rows for Sluice's tables
// of APPL_DB. orchagent knows names only, whichever table they come from.
var operators = map[string]string{tableType: "ACL_TABLE_TYPE", tableACL: "ACL_TABLE", tableRule: "ACL_RULE"}

// statusTables are the tables of STATE_DB with the states of rows. Types of ACL tables
// lack one: a fault of a type shows at its table.
var statusTables = map[string]string{tableACL: "ACL_TABLE_TABLE", tableRule: "ACL_RULE_TABLE", tableMirror: "MIRROR_SESSION_TABLE"}

// keyAs is a row's key with the separator of CONFIG_DB and STATE_DB.
func keyAs(r rows.Row) string { return strings.ReplaceAll(r.Key, ":", separator) }

// store are SONiC's databases.
type store struct {
	config, appl, state, counters, flex, asic *sonicdb.DB
}

// openStore connects to them.
func openStore(d *sonicdb.Databases, log *slog.Logger) (*store, error) {
	s := &store{}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &s.config, "APPL_DB": &s.appl, "STATE_DB": &s.state, "COUNTERS_DB": &s.counters, "FLEX_COUNTER_DB": &s.flex, "ASIC_DB": &s.asic} {
		var err error
		if *db, err = sonicdb.Open(d, name, log); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// close closes the connections.
func (d *store) close() error {
	var errs []error
	for _, db := range []*sonicdb.DB{d.config, d.appl, d.state, d.counters, d.flex, d.asic} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// read returns the fields of a row of Sluice, or nil.
func (d *store) read(r rows.Row) (map[string]string, error) {
	there := d.flex.Enqueued
	switch {
	case inOrder(r.Table):
	case operators[r.Table] == "":
		return getOne(d.config, r)
	default:
		there = d.appl.Produced
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	found, err := there(ctx, r)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0].Fields, nil
}

// waits reports whether orchagent has yet to take a change of a row of Sluice. For the group of queues
// that is whether syncd has yet to take one of them: it may take the group first, and forgets it with
// its last queue.
func (d *store) waits(r rows.Row) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	switch r.Table {
	case tableGroup:
		return d.flex.EnqueuedWaits(ctx, tableFlex, nameGroup+":")
	case tableFlex:
		return d.flex.EnqueuedWaits(ctx, tableFlex, r.Key)
	}
	if operators[r.Table] == "" {
		return false, nil // what it has taken of CONFIG_DB cannot be seen
	}
	return d.appl.Waits(ctx, r)
}

// waiting are the keys of a table of APPL_DB whose changes orchagent has yet to take.
func waiting(appl *sonicdb.DB, table string) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	return appl.Waiting(ctx, table)
}

// produced are those of some rows of APPL_DB that are there, or wait to be taken.
func produced(appl *sonicdb.DB, named ...rows.Row) ([]rows.Row, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	return appl.Produced(ctx, named...)
}

// produce hands rows to orchagent.
func produce(appl *sonicdb.DB, changes ...sonicdb.Change) error {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	return appl.Produce(ctx, changes...)
}

// namesOf are the names of the rows of a table of APPL_DB whose keys begin with a prefix, those
// included that wait to be taken. Keys of rules are TABLE:RULE.
func namesOf(appl *sonicdb.DB, table, prefix string) (named []rows.Row, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	waits, err := appl.Waiting(ctx, table)
	if err != nil {
		return nil, err
	}
	there, err := appl.ReadKeys(ctx, table, prefix)
	if err != nil {
		return nil, err
	}
	for _, r := range there {
		waits[r.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(waits)) {
		if strings.HasPrefix(key, prefix) {
			named = append(named, rows.Row{Table: table, Key: key})
		}
	}
	return named, nil
}

// operatorsRow is the name of a row of the operator with the name of Sluice's, or "".
func (d *store) operatorsRow(r rows.Row) (string, error) {
	in := rows.Row{Table: operators[r.Table], Key: keyAs(r)}
	if in.Table == "" {
		return "", nil
	}
	fields, err := getOne(d.config, in)
	if err != nil || fields == nil {
		return "", err
	}
	return in.Name(), nil
}

// write writes or removes a row of Sluice, whose fields are was, nil for a missing one.
func (d *store) write(c sonicdb.Change, was map[string]string) error {
	if inOrder(c.Row.Table) {
		return d.flex.Enqueue(context.Background(), c)
	}
	if operators[c.Row.Table] != "" {
		return d.appl.Produce(context.Background(), c)
	}
	var there []rows.Row
	if was != nil {
		there = []rows.Row{{Table: c.Row.Table, Key: c.Row.Key, Fields: was}}
	}
	return d.config.Swap(context.Background(), there, c)
}
