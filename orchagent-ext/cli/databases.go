// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/pflag"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// databaseFlags are the flags that locate SONiC's databases, the same as
// sluiced's.
type databaseFlags struct{ config, namespace string }

// addDatabases adds the flags by which the databases are found. Their defaults are the
// variables that SONiC sets in containers (NAMESPACE_ID_NAME on a switch of several
// ASICs).
func addDatabases(flags *pflag.FlagSet) *databaseFlags {
	d := &databaseFlags{}
	flags.StringVar(&d.config, "db-config", os.Getenv("SLUICE_DB_CONFIG"), sonicdb.ConfigUsage)
	flags.StringVar(&d.namespace, "namespace", os.Getenv("NAMESPACE_ID_NAME"), "asicN on a switch of several ASICs (NAMESPACE_ID_NAME)")
	return d
}

// databases are those that a command reads, by name.
type databases map[string]*sonicdb.DB

// open opens the databases; Redis may still be down.
func (d *databaseFlags) open(names ...string) (databases, error) {
	all, err := sonicdb.Load(d.config, d.namespace)
	if err != nil {
		return nil, err
	}
	dbs := databases{}
	for _, name := range names {
		db, err := sonicdb.Open(all, name, nil)
		if err != nil {
			return nil, errors.Join(err, dbs.close())
		}
		dbs[name] = db
	}
	return dbs, nil
}

// close closes all databases and returns their errors joined.
func (d databases) close() error {
	var errs []error
	for _, db := range d {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// read returns the rows of tables of a database.
func (d databases) read(ctx context.Context, name string, tables ...string) ([]rows.Row, error) {
	return d[name].Read(ctx, tables...)
}
