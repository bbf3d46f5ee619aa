// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

const sluiced = "../../bin/sluiced"

// recorded are rows by database, table and key.
type recorded map[string]map[string]map[string]map[string]string

// TestLedgerOfAnEarlierVersionIsAdoptedWhole: with the rows that an earlier sluiced left, a
// dry run rejects no row, and neither creates, changes nor removes an object.
func TestLedgerOfAnEarlierVersionIsAdoptedWhole(t *testing.T) {
	if _, err := os.Stat(sluiced); err != nil {
		t.Skipf("needs what make build makes: %v", err)
	}
	files, err := filepath.Glob("testdata/*/*.json")
	// That of the software switch is replayed by its own tests.
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "softsai.json" })
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded rows: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var of recorded
			if err := json.Unmarshal(text, &of); err != nil {
				t.Fatal(err)
			}
			if len(of["STATE_DB"]["SLUICE_ASIC_OBJECT"]) < 10 {
				t.Fatalf("the ledger has only %d objects", len(of["STATE_DB"]["SLUICE_ASIC_OBJECT"]))
			}
			out := dryRun(t, of)
			if len(out.Rejected) > 0 || len(out.Steps) > 0 {
				t.Errorf("rejected %s, steps %s", out.Rejected, out.Steps)
			}
			// The same rows with one object less: the dry run does report steps.
			delete(of["STATE_DB"]["SLUICE_ASIC_OBJECT"], slices.Sorted(maps.Keys(of["STATE_DB"]["SLUICE_ASIC_OBJECT"]))[0])
			if out := dryRun(t, of); len(out.Steps) == 0 {
				t.Error("an object less, and no step")
			}
		})
	}
}

// planned is the report of a dry run.
type planned struct{ Steps, Rejected []json.RawMessage }

// dryRun runs sluiced --dry-run on a Redis that holds the rows.
func dryRun(t *testing.T, of recorded) (out planned) {
	t.Helper()
	redis, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Stop()
	databases, err := sonicdb.Load(redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, tables := range of {
		db, err := sonicdb.Open(databases, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for table, all := range tables {
			for key, fields := range all {
				if err := db.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), sluiced, "--dry-run", "--json", "--db-config", redis.Config, "--sai-library", "../../bin/libsoftsai.so", "--state-file", "off")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return out
}

// TestEveryLeafOfAnEarlierVersionIsServed: gNMI serves each leaf at the path that it had,
// since paths derive from database, table and leaf.
func TestEveryLeafOfAnEarlierVersionIsServed(t *testing.T) {
	files, err := filepath.Glob("testdata/*/leaves.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded leaves: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for line := range strings.Lines(string(text)) {
			at, leaves, _ := strings.Cut(strings.TrimSpace(line), ": ")
			database, name, _ := strings.Cut(at, "/")
			table := paths.Lookup(name)
			if table == nil || table.Database != database {
				t.Errorf("%s: table %s is gone", file, at)
				continue
			}
			for _, leaf := range strings.Fields(leaves) {
				count++
				if !slices.Contains(table.Leaves, leaf) {
					t.Errorf("%s: leaf %s of %s is gone", file, leaf, at)
				}
			}
		}
		if count < 100 {
			t.Errorf("%s has only %d leaves", file, count)
		}
	}
}
