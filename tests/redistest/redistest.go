// SPDX-License-Identifier: Apache-2.0

// Package redistest gives a test SONiC's databases in a Redis of its own.
package redistest

import (
	"fmt"
	"os/exec"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

// Databases starts a Redis, which ends with the test, and returns its databases.
func Databases(t testing.TB) *sonicdb.Databases {
	t.Helper()
	s, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	d, err := sonicdb.Load(s.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Open opens a database by its name, as STATE_DB, for the time of the test.
func Open(t testing.TB, d *sonicdb.Databases, name string) *sonicdb.DB {
	t.Helper()
	db, err := sonicdb.Open(d, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Write writes rows.
func Write(t testing.TB, db *sonicdb.DB, all ...rows.Row) {
	t.Helper()
	for _, r := range all {
		if err := db.Write(t.Context(), sonicdb.Change{Row: r}); err != nil {
			t.Fatal(err)
		}
	}
}

// Text sets a string key; "" removes it.
func Text(t testing.TB, db *sonicdb.DB, key, value string) {
	t.Helper()
	args := []string{"-s", db.Address, "-n", fmt.Sprint(db.ID), "set", key, value}
	if value == "" {
		args = append(args[:4], "del", key)
	}
	if out, err := exec.Command("redis-cli", args...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli: %v: %s", err, out)
	}
}
