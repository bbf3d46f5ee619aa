// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"sluice/tests/guest"
)

// wait is for a guest that fails to answer: tests end themselves, after the time that they are
// given.
const wait = time.Minute

// A tester runs tests in a guest.
type tester struct {
	*guest.Guest
	patience, limit time.Duration // of a test for an event, and of all that run together
}

// test runs tests of a package by a pattern, "" for all.
func (t *tester) test(ctx context.Context, pkg, pattern string) (verdicts, string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.limit+wait)
	defer cancel()
	name := pkg[strings.LastIndexByte(pkg, '/')+1:]
	out, err := t.Run(ctx, "cd /sluice/%s && SOFTSAI_BUILT=/sluice/built ./%s.test -test.v -test.timeout=%v -patience=%v -test.run='%s'", pkg, name, t.limit, t.patience, pattern)
	v := count(out)
	if v.failed == nil && v.passed > 0 {
		return v, out, nil
	}
	return v, out, fmt.Errorf("%d passed, failed: %s: %w", v.passed, strings.Join(v.failed, " "), err)
}

// verdicts are those of whole tests.
type verdicts struct {
	passed          int
	skipped, failed []string
}

// verdict is the line that package testing ends a test with.
var verdict = regexp.MustCompile(`(?m)^--- (PASS|SKIP|FAIL): (\S+) \(`)

// started is the line that a test begins with.
var started = regexp.MustCompile(`(?m)^=== RUN   ([^/\s]+)$`)

// count reads the output of tests. One that began and has no verdict has failed.
func count(out string) (v verdicts) {
	ended := map[string]bool{}
	for _, m := range verdict.FindAllStringSubmatch(out, -1) {
		ended[m[2]] = true
		switch m[1] {
		case "PASS":
			v.passed++
		case "SKIP":
			v.skipped = append(v.skipped, m[2])
		case "FAIL":
			v.failed = append(v.failed, m[2])
		}
	}
	for _, m := range started.FindAllStringSubmatch(out, -1) {
		if !ended[m[1]] {
			v.failed = append(v.failed, m[1])
		}
	}
	return v
}
