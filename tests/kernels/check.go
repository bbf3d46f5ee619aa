// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/tests/guest"
)

// wait is for a guest that fails to answer: tests end themselves, after the time that they are
// given. That is the guest's, which may pass slowly.
const wait = time.Hour

// A tester runs tests in a guest.
type tester struct {
	*guest.Guest
	patience, limit time.Duration // of a test for an event, and of a test, by the guest's time
	kernel          string
}

// test runs the tests of a package that a pattern matches, each by a process of its own, and
// prints a line of each. environment is NAME=VALUE or empty.
func (t *tester) test(ctx context.Context, pkg, pattern, environment string) (all verdicts, out string, err error) {
	list, err := t.run(ctx, pkg, "", "-test.list='"+pattern+"'")
	if err != nil {
		return all, list, err
	}
	names := slices.DeleteFunc(strings.Fields(list), func(s string) bool { return !strings.HasPrefix(s, "Test") })
	for i, name := range names {
		began := time.Now()
		text, err := t.run(ctx, pkg, environment, "-test.v -test.run='^"+name+"$'")
		v := count(text)
		if err != nil && v.failed == nil {
			v.failed = []string{name}
		}
		outcome := "passed"
		if v.passed == 0 {
			outcome = reason(text)
		}
		fmt.Printf("%s    %d of %d, %.0f s: %s: %s\n", t.kernel, i+1, len(names), time.Since(began).Seconds(), name, outcome)
		all.passed += v.passed
		all.skipped, all.failed = append(all.skipped, v.skipped...), append(all.failed, v.failed...)
		out += text
		if ctx.Err() != nil {
			return all, out, ctx.Err()
		}
		if t.Lost() {
			return all, out, err
		}
	}
	if all.failed != nil || all.passed == 0 {
		return all, out, fmt.Errorf("%d passed, failed: %s", all.passed, strings.Join(all.failed, " "))
	}
	return all, out, nil
}

// run runs the tests of a package with flags of package testing, and returns their output.
func (t *tester) run(ctx context.Context, pkg, environment, flags string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	name := pkg[strings.LastIndexByte(pkg, '/')+1:]
	// The limit of open files is that of a service: Linux starts with 4096.
	return t.Run(ctx, "ulimit -n 65536 && cd /sluice/%s && SOFTSAI_BUILT=/sluice/built %s ./%s.test -test.timeout=%v -patience=%v %s", pkg, environment, name, t.limit, t.patience, flags)
}

// message is a line that a test writes by its Log, Error or Skip.
var message = regexp.MustCompile(`(?m)^ +(\w+_test\.go:\d+: .*)$`)

// reason is the first message of a test, or its last line.
func reason(text string) string {
	if m := message.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
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
