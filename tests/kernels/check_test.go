// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestVerdictsAreThoseOfTheOutput: parts of a test are not counted, and a test without a verdict
// has failed, as where its process died.
func TestVerdictsAreThoseOfTheOutput(t *testing.T) {
	const out = `=== RUN   TestA
=== RUN   TestA/part
    --- PASS: TestA/part (0.00s)
--- PASS: TestA (0.10s)
=== RUN   TestB
    b_test.go:1: needs a thing
--- SKIP: TestB (0.00s)
=== RUN   TestC
--- FAIL: TestC (3.00s)
=== RUN   TestD
panic: test timed out after 1m0s
`
	v := count(out)
	if v.passed != 1 || !slices.Equal(v.skipped, []string{"TestB"}) || !slices.Equal(v.failed, []string{"TestC", "TestD"}) {
		t.Errorf("%+v", v)
	}
}

// TestReasonIsTheFirstMessage: the lines of a process that a test shows come after it.
func TestReasonIsTheFirstMessage(t *testing.T) {
	for text, want := range map[string]string{
		"=== RUN   TestB\n    b_test.go:1: needs a thing\n    b_test.go:9: stderr:\n--- SKIP: TestB (0.00s)\nPASS\n": "b_test.go:1: needs a thing",
		"=== RUN   TestD\npanic: no\n": "panic: no",
		"":                             "",
	} {
		if got := reason(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestEachFeatureHasItsTest: the tests that show features are in tests/e2e.
func TestEachFeatureHasItsTest(t *testing.T) {
	files, err := filepath.Glob("../e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for _, f := range features {
		if !regexp.MustCompile(`(?m)^func ` + f.test + `\(`).Match(all) {
			t.Errorf("%s: tests/e2e has no %s", f.name, f.test)
		}
	}
}
