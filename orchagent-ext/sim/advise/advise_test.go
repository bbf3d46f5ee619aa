// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/sim/scenario"
)

// TestProposalsFollowTheFabric: by hand for 100 Gbit/s, links of 1 µs and a reaction of 10 µs.
func TestProposalsFollowTheFabric(t *testing.T) {
	s, err := scenario.Read(strings.NewReader("fabric: {hosts: 16, hosts_per_leaf: 4, spines: 2, fabric_gbit: 100, link_ns: 1000, switch_ns: 1000}\nhold: {reaction_us: 10}\nloads: [{kind: ring}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Proposal{}
	for _, p := range Propose(s) {
		got[p.Setting] = p
		if p.Why == "" || p.Longer == "" || p.Shorter == "" {
			t.Errorf("%+v lacks a reason or a cost", p)
		}
	}
	// Loop: 10 µs and a hop of 2 µs there and back; 12.5 octets/ns. Round trip: 4 links with 7 µs
	// each way, 4 packets of 336 ns and 4 acknowledgements of 8 ns.
	for setting, want := range map[string]string{
		"low_bytes": "179 kB", "high_bytes": "358 kB", "duration_us": "40000", "target_bytes": "192 kB", "target_delay_us": "15", "buffer": "3.2 MB",
	} {
		if got[setting].Value != want {
			t.Errorf("%s is %s, want %s", setting, got[setting].Value, want)
		}
	}
	if p := got["low_bytes"]; !strings.Contains(p.Longer, "42µs") {
		t.Errorf("a loop of 14 µs that takes 56: %q", p.Longer)
	}
}
