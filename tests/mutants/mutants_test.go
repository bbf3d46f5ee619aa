// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestKillsAreOfTheNamedTest: by its failure, a panic, or a test without an end; not by another test, or a
// compiler that was killed.
func TestKillsAreOfTheNamedTest(t *testing.T) {
	for out, want := range map[string]bool{
		"=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\n": true,
		"    --- FAIL: TestA/one (0.00s)\n":                true,
		"panic: test timed out after 4m0s\n":               true,
		"=== RUN   TestA\npanic: nil map\n":                true,
		"SIGQUIT: quit\n*** Test killed with quit: ran\n":  true,
		"--- FAIL: TestB (0.00s)\nFAIL\n":                  false,
		"signal: killed\nFAIL\tsluice/a [build failed]\n":  false,
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n": false,
	} {
		if got := failed([]byte(out), "TestA"); got != want {
			t.Errorf("%q: %v", out, got)
		}
	}
}

// TestReportKeepsTheOtherRows: outcomes of single rows replace theirs, and those of patches that are gone are
// left out.
func TestReportKeepsTheOtherRows(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := &report{Mutants: []outcome{{Patch: "a", Commit: "1"}, {Patch: "b", Killed: true, Commit: "1"}, {Patch: "gone", Killed: true, Commit: "1"}}}
	if err := whole.save(); err != nil {
		t.Fatal(err)
	}
	again := &report{Mutants: []outcome{{Patch: "a", Killed: true, Commit: "2"}, {Patch: "c", Commit: "2"}}}
	got, err := again.merge(map[string]bool{"a": true, "b": true, "c": true, "never ran": true})
	if err != nil {
		t.Fatal(err)
	}
	want := []outcome{{Patch: "a", Killed: true, Commit: "2"}, {Patch: "b", Killed: true, Commit: "1"}, {Patch: "c", Commit: "2"}}
	if !slices.Equal(got.Mutants, want) || got.Killed != 2 || got.Total != 3 {
		t.Errorf("%+v", got)
	}
}
