// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

// TestVersionNamesAllParts: programs in PATH, the sluiced that runs, and what is not
// there.
func TestVersionNamesAllParts(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"sluiced": "echo sluiced 1.2.3+abc", "sluice-gnmi": "exit 3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", dir+":"+path)
	redis, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	databases, err := sonicdb.Load(redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	state, err := sonicdb.Open(databases, "STATE_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	parts := func(config string) map[string]versionOf {
		t.Helper()
		out, _ := good(t, "version", "--json", "--db-config", config)
		all := map[string]versionOf{}
		for line := range strings.Lines(out) {
			var v versionOf
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			all[v.Part] = v
		}
		return all
	}
	if got := parts(redis.Config)["sluiced, running"]; got.Error != "not running" {
		t.Errorf("no sluiced runs: %+v", got)
	}
	row := rows.Row{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"version": "1.2.2+old"}}
	if err := state.Write(t.Context(), sonicdb.Change{Row: row}); err != nil {
		t.Fatal(err)
	}
	got := parts(redis.Config)
	if got["sluice"].Version != version || got["sluiced"].Version != "1.2.3+abc" || got["sluiced"].At != filepath.Join(dir, "sluiced") ||
		got["sluice-gnmi"].Error != "it does not say" || got["sluiced, running"].Version != "1.2.2+old" || got["kernel"].Version == "" || got["go"].Version == "" {
		t.Errorf("%+v", got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := parts("/nosuch.json"); got["sluiced"].Error != "not installed" || got["sluiced, running"].Error != "the databases cannot be read" {
		t.Errorf("%+v", got)
	}
	if out, _ := good(t, "version", "--db-config", "/nosuch.json"); !strings.Contains(out, "sluice-gnmi       - (not installed)") {
		t.Errorf("%s", out)
	}
}
