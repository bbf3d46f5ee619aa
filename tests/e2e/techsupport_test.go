// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTechsupportGathersTheStateOfSluiced: what `sluice techsupport` gathers beside a running sluiced is
// what is there.
func TestTechsupportGathersTheStateOfSluiced(t *testing.T) {
	l := newLeaf(t)
	l.start()
	l.enable()
	library, err := filepath.Abs(bin + "libsoftsai.so")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "report.json")
	l.in("sh", "-c", bin+"sluice techsupport --json --db-config "+l.redis.Config+" >"+out)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Parts []struct {
			Name  string
			Items []struct {
				Name   string
				Fields map[string]string
			}
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	got := map[string]map[string]map[string]string{} // fields by part and item
	for _, p := range r.Parts {
		got[p.Name] = map[string]map[string]string{}
		for _, item := range p.Items {
			got[p.Name][item.Name] = item.Fields
		}
	}
	if s := got["state"]["SLUICE_STATE|global"]; s["state"] != "running" || s["flow_label"] != "active" {
		t.Errorf("state: %v", s)
	}
	for _, port := range append(l.Uplinks, l.LeafA) {
		if f := got["links"][port.Name]; f["sluice_filter"] != "yes" || !strings.Contains(f["ingress_filters"], "softsai_ingress") {
			t.Errorf("port %s: %v", port.Name, f)
		}
	}
	if f := got["links"]["lo"]; f["sluice_filter"] != "no" {
		t.Errorf("lo: %v", f)
	}
	if f := got["ecmp"]["ipv6"]; f["fib_multipath_hash_policy"] != "3" || f["forwarding"] != "1" {
		t.Errorf("ECMP: %v", f)
	}
	ledger := slices.Collect(maps.Keys(l.table("SLUICE_ASIC_OBJECT")))
	slices.Sort(ledger)
	var objects []string
	for name := range got["objects"] {
		objects = append(objects, strings.TrimPrefix(name, "SLUICE_ASIC_OBJECT|"))
	}
	slices.Sort(objects)
	if len(ledger) == 0 || !slices.Equal(objects, ledger) {
		t.Errorf("objects %v, want %v", objects, ledger)
	}
	found := false
	for _, f := range got["processes"] { // others may run on this machine
		found = found || strings.Contains(f["command"], library) && strings.Contains(f["command"], l.redis.Config) && f["VmRSS"] != ""
	}
	if !found {
		t.Errorf("processes: %v", got["processes"])
	}
}
