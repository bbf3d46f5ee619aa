// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/queuepairs"
	"sluice/tests/fabrictest"
)

// TestSlowASICIsReported: a switch that takes 90 ms for an entry, with counters that are 10 s old,
// has flows placed by samples, and the daemon reports how long packets are lost where a link goes
// down: 8 entries × 90 ms. A lower bound of entries ends the warning.
func TestSlowASICIsReported(t *testing.T) {
	needsPrograms(t)
	l := newSwitch(t, fabrictest.LeafSpine(t, stockUplinks))
	s := &stock{leaf: l, equal: queuepairs.Weights(stockFlows, func(int) float64 { return 1 })}
	for name, value := range map[string]string{"fib_multipath_hash_policy": "3", "fib_multipath_hash_fields": "55"} {
		fabrictest.Check(t, s.Leaf.Sysctl("net.ipv4."+name, value))
	}
	asic := filepath.Join(t.TempDir(), "asic")
	fabrictest.Check(t, os.WriteFile(asic, []byte("rule_ms=90\nentries=2048\nsamples=10000\ncounters_ms=10000\n"), 0o600))
	ports := make([]int, stockFlows)
	for i := range ports {
		ports[i] = stockPort + i
	}
	var err error
	s.load, err = queuepairs.Start(s.A, false, stockRate, ports)
	fabrictest.Check(t, err)
	t.Cleanup(func() { fabrictest.Check(t, s.load.End()) })
	s.load.Send(s.equal)
	hash := slices.Max(s.loads(stockRate/2, s.Uplinks))
	s.start("--sai-profile", "SLUICE_ASIC="+asic)
	s.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled", "moves", "any", "sampling_rate", "4")
	s.awaitFields("SLUICE_CAPABILITY", "switch", "placement_method", "redirect")
	placed, took := s.even(1.10, s.Uplinks)
	const warned = "max_entries_per_link of SLUICE_PLACEMENT|global bounds that"
	warnings := func() string { return fmt.Sprint(s.row("SLUICE_STATE", "global")) }
	s.until("the slow switch is warned of", func() bool { return strings.Contains(warnings(), warned) })
	t.Logf("90 ms an entry, counters of 10 s: max ÷ mean %.2f by hash, %.3f placed after %v; %s", hash, placed, took.Round(time.Millisecond), s.row("SLUICE_STATE", "global")["warnings"])
	s.set("SLUICE_PLACEMENT", "global", "max_entries_per_link", "2")
	s.until("the warning ends", func() bool { return !strings.Contains(warnings(), warned) })
}
