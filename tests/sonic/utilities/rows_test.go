// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"sluice/yang/rows"
)

// TestConfigurationsAreValid: the rows that SONiC's utilities are tried with are valid by
// Sluice's own rules, and have each table of Sluice.
func TestConfigurationsAreValid(t *testing.T) {
	var ours []rows.Row
	for _, r := range sluice().rows() {
		delete(r.Fields, "NULL")
		ours = append(ours, r)
	}
	there := sonic()
	for _, err := range rows.Validate(ours, func(table, key string) bool { return there[table][key] != nil }) {
		t.Error(err)
	}
	for _, name := range rows.Tables("CONFIG_DB") {
		if len(sluice()[name]) == 0 {
			t.Errorf("no row of %s", name)
		}
	}
}

func TestContentsDiffer(t *testing.T) {
	is := tables{"SLUICE_THRESHOLD": {"a": {"high_bytes": "1", "queues": []string{"3", "4"}}, "b": {}}}.flat()
	if want := (content{"SLUICE_THRESHOLD|a": "high_bytes=1 queues@=3,4", "SLUICE_THRESHOLD|b": ""}); !maps.Equal(is, want) {
		t.Fatalf("%v, want %v", is, want)
	}
	if got := is.minus(is); got != "" {
		t.Errorf("equal contents differ by %s", got)
	}
	for want, other := range map[string]content{
		"+SLUICE_THRESHOLD|b": {"SLUICE_THRESHOLD|a": "high_bytes=1 queues@=3,4"},
		"+SLUICE_THRESHOLD|a high_bytes=1 queues@=3,4; -SLUICE_THRESHOLD|a high_bytes=1": {"SLUICE_THRESHOLD|a": "high_bytes=1", "SLUICE_THRESHOLD|b": ""},
		"-SLUICE|global": is.plusAll(content{"SLUICE|global": ""}),
	} {
		if got := is.minus(other); got != want {
			t.Errorf("differ by %q, want %q", got, want)
		}
	}
}

func TestPointersEscapeKeys(t *testing.T) {
	if got, want := pointer("SLUICE_PPFC_PEER", "10.0.0.0/16", "a~b"), "/SLUICE_PPFC_PEER/10.0.0.0~116/a~0b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTreesDiffer(t *testing.T) {
	was := tree{"/a": "1", "/b": "1", "/c": "1", "/d": "1"}
	is := tree{"/a": "1", "/b": "2", "/e": "1", "/d": "2"}
	if got, want := is.since(was, "/d"), "+/e -/c ~/b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := missing([]string{"/a", "/c"}, is); got != "missing /c " {
		t.Errorf("%q", got)
	}
}

func TestVersionsOfManifests(t *testing.T) {
	text, err := withVersion([]byte(`{"package": {"version": "0.1.0", "name": "sluice"}}`), "0.9.0")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := versionOf([]byte(text)); got != "0.9.0" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestReportsAreMerged: checks of an earlier run are replaced, and other parts of the report stay.
func TestReportsAreMerged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	r := report{Release: "202505", Programs: []string{"config"}, Checks: []check{{Name: "a", OK: true}}}
	if err := r.into(file); err != nil {
		t.Fatalf("without a report: %v", err)
	}
	const was = `{"release": "202505", "programs": ["syncd", "config"], "checks": [{"name": "a"}, {"name": "b", "ok": true}], "warm_restart": {"rewritten": 0}}`
	if err := os.WriteFile(file, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.into(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		report
		WarmRestart struct{ Rewritten *int } `json:"warm_restart"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.Programs, got.Checks) != "[syncd config] [{b true  } {a true  }]" || got.WarmRestart.Rewritten == nil {
		t.Errorf("%s", text)
	}
	r.Release = "202605"
	if err := r.into(file); err == nil {
		t.Error("checks of another release are added")
	}
}
