// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/tests/oddrows"
)

// TestConfigWarnsOfAWaitingCommit: of a row that a commit of gNMI may take back, and of no
// other one.
func TestConfigWarnsOfAWaitingCommit(t *testing.T) {
	databasesOf(t, oddrows.Ports...)
	file := filepath.Join(t.TempDir(), "commit.json")
	defer func(was []string) { commitFiles = was }(commitFiles)
	commitFiles = []string{filepath.Join(t.TempDir(), "none.json"), file}

	config := func(args string) string {
		t.Helper()
		_, said := good(t, strings.Fields(args)...)
		return said
	}
	if said := config("config port set Ethernet0 --role edge"); said != "" {
		t.Errorf("without a commit: %s", said)
	}
	if err := os.WriteFile(file, []byte(`{"id":"rollout 7","deadline":"2026-11-22T12:00:00Z","rows":[{"table":"SLUICE_PORT","key":"Ethernet0","there":true,"fields":{"role":"edge"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, warns := range map[string]bool{
		"config port set Ethernet0 --role border --dry-run": true,
		"config port set Ethernet0 --role fabric":           true,
		"config flow-label set --admin-state enabled":       false,
	} {
		said := config(args)
		if got := strings.Contains(said, `warning: gNMI commit "rollout 7" waits to be confirmed until `) && strings.Contains(said, "SLUICE_PORT|Ethernet0"); got != warns || !warns && said != "" {
			t.Errorf("%s: %q", args, said)
		}
	}
	if err := os.WriteFile(file, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := config("config port set Ethernet0 --role edge"); !strings.Contains(said, "is not known: ") {
		t.Errorf("a file that cannot be read: %q", said)
	}
}
