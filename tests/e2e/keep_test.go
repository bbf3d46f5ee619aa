// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/flows/flow"
	"sluice/yang/rows"
)

// reboot takes from STATE_DB what sluiced wrote, as a reboot does.
func (l *leaf) reboot() {
	l.t.Helper()
	all, err := l.state.Read(l.t.Context(), rows.Tables("STATE_DB")...)
	if err != nil {
		l.t.Fatal(err)
	}
	var gone []sonicdb.Change
	for _, r := range all {
		gone = append(gone, sonicdb.Change{Row: r, Deleted: true})
	}
	if err := l.state.Write(l.t.Context(), gone...); err != nil {
		l.t.Fatal(err)
	}
}

// TestKillSwitchOutlivesABadField: while sluiced is down a bad field comes into the
// row that has the kill switch. Nothing is programmed, neither when it starts nor
// after a reboot.
func TestKillSwitchOutlivesABadField(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		l.global("admin_state", "disabled")
		l.off()
		l.kill()
		l.global("admin_state", "disabled", "cpu_rate", "many")
		for range 2 {
			l.launch()
			l.awaitFields("SLUICE_STATE", "global", "state", "disabled", "config_errors", "1")
			l.off()
			if e := l.row("SLUICE_CONFIG_ERROR", "SLUICE|global"); e["field"] != "cpu_rate" {
				t.Errorf("error %v", e)
			}
			l.kill()
			l.reboot()
		}
	})
}

// TestKillSwitchInABadRow: the kill switch works though another field of its row is
// bad, and in a row that was never good.
func TestKillSwitchInABadRow(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		l.global("admin_state", "disabled", "cpu_rate", "many")
		if l.driver() == "orchagent" { // SLUICE|global was good before, with this driver
			l.awaitFields("SLUICE_STATE", "global", "driver", "orchagent")
		}
		l.awaitFields("SLUICE_STATE", "global", "config_errors", "1")
		l.off()
	})
}

// TestKillAndBadRows: rows turn bad while sluiced is down. The last good ones are in
// force when it starts, no object changes, and the errors are shown; the same after a
// reboot, when STATE_DB is empty.
func TestKillAndBadRows(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		was := l.objects()
		l.kill()
		l.labels("algorithm", "md5")
		l.set("SLUICE_PORT", l.LeafA.Name, "role", "core")
		started := func() {
			t.Helper()
			l.launch()
			l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active", "config_errors", "2")
			if e := l.row("SLUICE_CONFIG_ERROR", "SLUICE_FLOW_LABEL|global"); e["field"] != "algorithm" || !strings.Contains(e["in_force"], "enabled") {
				t.Errorf("error %v", e)
			}
		}
		started()
		if now := l.objects(); !maps.Equal(now, was) {
			t.Errorf("objects were %v and are %v", was, now)
		}
		l.checkLabels(2, flow.DraftLiteral)
		l.kill()
		l.reboot()
		started()
		l.allLabelled()
	})
}

// TestKillWhileConfigDBLoads: sluiced starts while SONiC loads CONFIG_DB, table by
// table. No object is removed because its row is still to come.
func TestKillWhileConfigDBLoads(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		was, count := l.objects(), l.row("SLUICE_STATE", "global")["objects"]
		l.kill()
		l.remove("SLUICE_FLOW_LABEL", "global")
		l.remove("SLUICE_PORT", l.LeafA.Name)
		l.initialized("0")
		l.launch()
		l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
			return f["state"] == "starting" && strings.Contains(f["last_error"], "SONiC is loading CONFIG_DB")
		})
		l.checkLabels(2, flow.DraftLiteral)
		l.labels()
		l.set("SLUICE_PORT", l.LeafA.Name, "role", "edge")
		l.initialized("1")
		l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active", "objects", count)
		if now := l.objects(); !maps.Equal(now, was) {
			t.Errorf("objects were %v and are %v", was, now)
		}
		l.checkLabels(2, flow.DraftLiteral)
	})
}

// initialized sets CONFIG_DB_INITIALIZED, as SONiC does.
func (l *leaf) initialized(value string) {
	l.t.Helper()
	at := l.config.Database
	out, err := exec.Command("redis-cli", "-s", at.Address, "-n", fmt.Sprint(at.ID), "set", "CONFIG_DB_INITIALIZED", value).CombinedOutput()
	if err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
}

// TestKillAndJunkLedger: rows of the ledger that sluiced did not write are set aside.
// It says so, and takes over what the other rows name.
func TestKillAndJunkLedger(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		l.start()
		l.enable()
		l.allLabelled()
		was := l.objects()
		l.kill()
		for key, fields := range map[string]map[string]string{
			"junk":             {"a": "b"},
			"oid:0x1":          {"key": "k", "type": "acl-entry", "attributes": "words alone"},
			"unknown:sluice":   {"key": "k2", "type": "switch-hash", "attributes": ""},
			"oid:x":            {"key": "k3", "type": "none", "attributes": "A=b"},
			"no\u009bprinting": {"key": "", "type": strings.Repeat("x", 100000)},
		} {
			if err := l.state.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: "SLUICE_ASIC_OBJECT", Key: key, Fields: fields}}); err != nil {
				t.Fatal(err)
			}
		}
		l.launch()
		f := l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
			return f["state"] == "degraded" && f["flow_label"] == "active" && strings.Contains(f["warnings"], "ignored a row of SLUICE_ASIC_OBJECT")
		})
		if n := len(f["warnings"]); n > 1000 {
			t.Errorf("%d octets of warnings", n)
		}
		if now := l.objects(); !maps.Equal(now, was) {
			t.Errorf("objects were %v and are %v", was, now)
		}
		l.checkLabels(2, flow.DraftLiteral)
	})
}
