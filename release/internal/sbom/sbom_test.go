// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The modules of a program are known by another way, too: go version -m.
func TestBillNamesEachModuleWithItsLicense(t *testing.T) {
	const program = "../../../bin/sluice"
	if _, err := os.Stat(program); err != nil {
		t.Skipf("needs what make build makes: %v", err)
	}
	said, err := exec.CommandContext(t.Context(), "go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var licenses strings.Builder
	want := map[string]string{}
	for line := range strings.Lines(string(said)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "dep" {
			want[f[1]] = f[2]
			licenses.WriteString(f[1] + "/pkg,MIT\n")
		}
	}
	var out bytes.Buffer
	if err := run([]string{"sluice", "1.2.3", program}, strings.NewReader(licenses.String()), &out); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(out.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.Version != "1.2.3" || len(want) < 10 || len(b.Components) != 1+len(want) {
		t.Errorf("%d modules: %s", len(want), &out)
	}
	for _, c := range b.Components[1:] {
		if c.Version != want[c.Name] || len(c.Licenses) != 1 || c.Licenses[0].License.ID != "MIT" {
			t.Errorf("%+v, want version %s", c, want[c.Name])
		}
	}
	if err := run([]string{"sluice", "1.2.3", program}, strings.NewReader(""), &out); err == nil || !strings.Contains(err.Error(), "no license was found") {
		t.Errorf("without licenses: %v", err)
	}
}

func TestBillTakesTheLicensesOfTheClosestModule(t *testing.T) {
	modules := map[string]string{"example.org/a": "v1", "example.org/a/b": "v2"}
	for pkg, want := range map[string]string{"example.org/a/b/c": "example.org/a/b", "example.org/a/bc": "example.org/a", "example.org/a": "example.org/a", "example.org/ab": ""} {
		if got := owner(pkg, modules); got != want {
			t.Errorf("%s is of %q, want %q", pkg, got, want)
		}
	}
}

func TestModuleWithoutALicenseIsAnError(t *testing.T) {
	for _, lines := range []string{"example.org/a,Unknown\n", "example.org/a\n", "example.org/a,\n"} {
		if _, err := readLicenses(strings.NewReader(lines)); err == nil {
			t.Errorf("%q is taken", lines)
		}
	}
}
