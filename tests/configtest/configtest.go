// SPDX-License-Identifier: Apache-2.0

// Package configtest makes snapshots of the configuration from rows that a test writes
// in place.
package configtest

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Rows that many tests need: table, key, and fields as name=value.
var (
	Port0   = []string{"PORT", "Ethernet0", "lanes=0,1"}
	Port4   = []string{"PORT", "Ethernet4", "lanes=4"}
	Edge0   = []string{"SLUICE_PORT", "Ethernet0", "role=edge"}
	Fabric4 = []string{"SLUICE_PORT", "Ethernet4", "role=fabric"}
	Labels  = []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled"}
)

// Snapshot returns the configuration that rows put in force. A row that is rejected fails
// the test.
func Snapshot(t testing.TB, all ...[]string) *config.Snapshot {
	t.Helper()
	var changes []sonicdb.Change
	for _, words := range all {
		fields := map[string]string{}
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			fields[name] = value
		}
		changes = append(changes, sonicdb.Change{Row: rows.Row{Table: words[0], Key: words[1], Fields: fields}})
	}
	s, rejected := config.New().Apply(changes)
	if len(rejected) > 0 {
		t.Fatalf("%v", rejected)
	}
	return s
}
