// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const smallFabric = `
fabric: {tiers: 2, hosts: 8, hosts_per_leaf: 2, spines: 2, host_gbit: 100, fabric_gbit: 100}
loads: [{kind: ring, duration_ms: 0.2, size: 8, scattered: true}]
compare: [none, placement]
`

// TestSimRecordIsShown: show reads the leaves of a simulated run as those of switches, and a second
// run is the same to the octet.
func TestSimRecordIsShown(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("fabric.yaml", []byte(smallFabric), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, _ := good(t, "sim", "fabric.yaml")
	with, _ := good(t, "sim", "fabric.yaml", "--record", "one.record")
	if plain != with {
		t.Errorf("the result changes by --record:\n%s\n%s", plain, with)
	}
	if _, errs, code := sluice(nil, "sim", "fabric.yaml", "--record", "one.record"); code != 1 || !strings.Contains(errs, "--force") {
		t.Errorf("a file that exists: exit code %d, %s", code, errs)
	}
	good(t, "sim", "fabric.yaml", "--record", "two.record")
	one, err := os.ReadFile("one.record")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := os.ReadFile("two.record"); err != nil || string(one) != string(two) {
		t.Errorf("%d and %d octets: %v", len(one), len(two), err)
	}
	out, errs := good(t, "show", "queues", "--at", "-0s", "--from", filepath.Join(".", "one.record"))
	for _, leaf := range []string{"leaf0", "leaf1", "leaf2", "leaf3"} {
		if !strings.Contains(out, leaf+" ") || !strings.Contains(out, "spine0.1") {
			t.Errorf("%s: %s", leaf, out)
		}
	}
	if !strings.HasPrefix(errs, "as of 2000-01-01T00:00:00Z, by one.record\n") {
		t.Errorf("%q", errs)
	}
	if out, _ := good(t, "show", "placement", "--at", "-0s", "--from", "one.record", "--target", "leaf2"); !strings.Contains(out, "fd00::/16") {
		t.Errorf("placement: %s", out)
	}
}
