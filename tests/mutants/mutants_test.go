// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// least is how many mutants there are at least.
const least = 120

// TestEachPatchApplies: to a file of the product, once; its test is there, and has the mark of the row.
func TestEachPatchApplies(t *testing.T) {
	all, err := readMutants(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < least {
		t.Errorf("%d mutants, want %d", len(all), least)
	}
	sources := map[string]string{}
	for _, m := range all {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if changed, err := m.apply(string(text)); err != nil || changed == string(text) {
			t.Errorf("%s: %v", m.patch, err)
		}
		if strings.HasSuffix(m.file, "_test.go") {
			t.Errorf("%s changes a test", m.patch)
		}
		if !strings.HasPrefix(filepath.Base(m.patch), filepath.Base(m.row)+"-") || filepath.Base(filepath.Dir(m.patch)) != filepath.Dir(m.row) {
			t.Errorf("%s breaks the row %s: it is to be named after it", m.patch, m.row)
		}
		if sources[m.folder] == "" {
			files, err := filepath.Glob(filepath.Join(root, m.folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources[m.folder] += string(text)
			}
		}
		mark := regexp.MustCompile(fmt.Sprintf(`(?m)^//conformance:(.* )?%s( .*)?\n(//.*\n)*func %s\(`, regexp.QuoteMeta(m.row), m.test))
		if !mark.MatchString(sources[m.folder]) {
			t.Errorf("%s: %s of %s has no mark of %s", m.patch, m.test, m.folder, m.row)
		}
	}
	if _, err := readSurvivors("."); err != nil {
		t.Error(err)
	}
}

func TestPatchesAreRead(t *testing.T) {
	m, err := parse("row draft-a/x\ntest ./a TestX\n\n--- a/b.go\n-\tif a {\n-\t}\n+\tif b {\n")
	if want := (mutant{row: "draft-a/x", folder: "./a", test: "TestX", file: "a/b.go", old: "\tif a {\n\t}\n", with: "\tif b {\n"}); err != nil || m != want {
		t.Errorf("%+v, %v", m, err)
	}
	got, err := m.apply("x\n\tif a {\n\t}\ny\n")
	if err != nil || got != "x\n\tif b {\ny\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"\tif b {\n", "\tif a {\n\t}\n\tif a {\n\t}\n", "x\tif a {\n\t}\n"} {
		if got, err := m.apply(text); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"", "row a\ntest b C\n--- d\n", "row a\ntest b C\n--- d\n-x\n+x\n", "what\n"} {
		if m, err := parse(text); err == nil {
			t.Errorf("%q was read as %+v", text, m)
		}
	}
}
