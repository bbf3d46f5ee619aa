// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// TestUnknownTable: a row of a table that is none, but begins like ours, is reported as
// any row that is not in force, with the table that may be meant.
func TestUnknownTable(t *testing.T) {
	l := newLeaf(t)
	l.start()
	l.set("SLUICE_FLOWLABEL", "global", "admin_state", "enabled")
	l.awaitFields("SLUICE_STATE", "global", "config_errors", "1", "flow_label_method", "none")
	l.awaitFields("SLUICE_CONFIG_ERROR", "SLUICE_FLOWLABEL|global", "reason", "no such table; SLUICE_FLOW_LABEL is one")
	if !strings.Contains(l.log.String(), "SLUICE_FLOWLABEL|global: no such table; SLUICE_FLOW_LABEL is one") {
		t.Error("it is not logged")
	}
	l.remove("SLUICE_FLOWLABEL", "global")
	l.enable()
	l.awaitFields("SLUICE_STATE", "global", "config_errors", "0")
	l.allLabelled()
}

// TestPortSetDown: an edge port whose netdev is set down is shown as down, and warned of.
func TestPortSetDown(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	l.enable()
	port := l.LeafA.Name
	l.awaitCounters("SLUICE_PORT_STATS", port, "oper_status", "up")
	l.in("ip", "link", "set", port, "down")
	l.awaitCounters("SLUICE_PORT_STATS", port, "oper_status", "down")
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["state"] == "degraded" && strings.Contains(f["warnings"], "the netdev of "+port+" is set down")
	})
	l.in("ip", "link", "set", port, "up")
	l.awaitCounters("SLUICE_PORT_STATS", port, "oper_status", "up")
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "warnings", "")
}
