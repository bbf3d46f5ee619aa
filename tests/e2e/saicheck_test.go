// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"sluice/orchagent-ext/switch/saicheck"
)

// TestCheckTimesEntriesThatRedirect: operators learn how long packets to a dead link are lost,
// and how many flows can be placed, before they let Sluice place any.
func TestCheckTimesEntriesThatRedirect(t *testing.T) {
	l := newLeaf(t)
	library, err := filepath.Abs(bin + "libsoftsai.so")
	if err != nil {
		t.Fatal(err)
	}
	var report saicheck.Report
	text := l.in(bin+"sluice", "sai-check", library, "--port", l.LeafA.Name, "--json")
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	is := report.Methods["placement"]["redirect"]
	if is == nil || !is.Works || is.EntryMS <= 0 || is.Room == nil || *is.Room == 0 {
		t.Fatalf("placement by redirect: %+v", is)
	}
	// The software switch hashes as the kernel does, and takes one entry of a match.
	want := map[string]bool{"to a group": false, "to a next hop with a group as backup": true, "a second equal match": false}
	for _, trial := range is.Trials {
		if taken, known := want[trial.Name]; known && trial.Taken != taken {
			t.Errorf("%+v: want taken %v", trial, taken)
		}
		delete(want, trial.Name)
	}
	if len(want) > 0 {
		t.Errorf("without the trials %v", want)
	}
}
