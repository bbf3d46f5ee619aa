// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChecksOfAGuestAreInTheReport: those of an earlier guest go, and a scenario that the guest ran is no
// longer one that was not run. Reports of two releases are never one.
func TestChecksOfAGuestAreInTheReport(t *testing.T) {
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	from, to := at("guest.json"), at("report.json")
	if err := joinReport(from, to, nil); err != nil {
		t.Errorf("without reports: %v", err)
	}
	of := func(name string) check { return check{Name: name, OK: true, Expected: "1", Got: "1"} }
	guests := report{Release: "202605", Kernel: "6.1", Programs: []string{"vrfmgrd"}, Checks: []check{of("VRF: even")}}
	all := report{
		Release: "202605", Kernel: "6.18", Programs: []string{"syncd"}, Placement: map[string]float64{"v4": 1.02},
		Checks: []check{of("v4: even"), of("guest, Linux 5.10: VRF: even")}, NotRun: []string{"vrf: no VRFs", "sflow: no sflowmgrd"},
	}
	if err := guests.write(from); err != nil {
		t.Fatal(err)
	}
	if err := all.write(to); err != nil {
		t.Fatal(err)
	}
	if err := joinReport(from, to, []string{"vrf"}); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := readReport(to, &got); err != nil {
		t.Fatal(err)
	}
	want := report{
		Release: "202605", Kernel: "6.18", Programs: []string{"syncd", "vrfmgrd"}, Placement: map[string]float64{"v4": 1.02},
		Checks: []check{of("v4: even"), of("guest, Linux 6.1: VRF: even")}, NotRun: []string{"sflow: no sflowmgrd"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	guests.Release = "202505"
	if err := guests.write(from); err != nil {
		t.Fatal(err)
	}
	if err := joinReport(from, to, []string{"vrf"}); err == nil {
		t.Error("a report of 202505 is added to one of 202605")
	}
}
