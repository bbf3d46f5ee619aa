// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/sai-shim/saitest"
	"sluice/yang/rows"
)

// statisticsMeanwhile is how many statistics calls may be made while a change of the
// configuration is on its way and the switch is programmed: 20 ms a call make that 4 s on a
// busy machine. A round over all queues and ports has 10,752.
const statisticsMeanwhile = 200

// TestSlowStatisticsLetProgrammingGoFirst starts sluiced with 512 ports of 20 queues, and a
// library that takes 20 ms for a statistics call. Labels become active, and the kill switch
// removes all, before a round of statistics is through.
func TestSlowStatisticsLetProgrammingGoFirst(t *testing.T) {
	const ports, queues, delay = 512, 20, 20 * time.Millisecond
	library, state := saitest.New(t), filepath.Join(t.TempDir(), "sluiced.json")
	d, file := labelled(t)
	var changes []sonicdb.Change
	lanes := make([]string, ports)
	for i := range ports {
		name := fmt.Sprintf("Ethernet%d", 4*i)
		lanes[i] = fmt.Sprint(i)
		changes = append(changes,
			sonicdb.Change{Row: rows.Row{Table: "PORT", Key: name, Fields: map[string]string{"lanes": lanes[i], "admin_status": "up"}}},
			sonicdb.Change{Row: rows.Row{Table: "SLUICE_PORT", Key: name, Fields: map[string]string{"role": "edge"}}})
	}
	db, err := sonicdb.Open(d, "CONFIG_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Write(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r := runSluiced(t, d, file, library, state, "stats nothing 0 -1",
		"--sai-profile", "PORTS="+strings.Join(lanes, " "), "--sai-profile", fmt.Sprintf("QUEUES=%d", queues),
		"--sai-profile", fmt.Sprintf("STATS_DELAY=%d", delay.Microseconds()))
	statistics := func() (n int) {
		for _, call := range library.Calls() {
			if strings.HasPrefix(call, "stats ") {
				n++
			}
		}
		return n
	}
	r.until(telemetry.TableState, "global", func(f map[string]string) bool { return f["flow_label"] == telemetry.Active })
	if n := statistics(); n > statisticsMeanwhile {
		t.Errorf("labels were active after %d statistics calls, and %v", n, time.Since(began))
	} else {
		t.Logf("labels were active after %d statistics calls, and %v", n, time.Since(began))
	}

	for deadline := time.Now().Add(time.Minute); statistics() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no statistics are read")
		}
	}
	began = time.Now()
	configure(t, d, rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"admin_state": "disabled"}})
	r.until(telemetry.TableState, "global", func(f map[string]string) bool { return f["objects"] == "0" })
	if n := statistics(); n > statisticsMeanwhile {
		t.Errorf("the kill switch was through after %d statistics calls, and %v", n, time.Since(began))
	} else {
		t.Logf("the kill switch was through after %d statistics calls, and %v", n, time.Since(began))
	}
}
