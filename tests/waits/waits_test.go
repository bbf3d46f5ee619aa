// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"bufio"
	"fmt"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	root = "../.."
	list = "testdata/allowed.txt"
	// mostAllowed is how many lines the list has at most. It only shrinks.
	mostAllowed = 53
)

// allowed returns the lines of the list: how often a function may depend on the clock in one
// manner, as "FILE FUNCTION KIND", and that each has a reason.
func allowed(t *testing.T) map[string]int {
	t.Helper()
	f, err := os.Open(list)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, lines := map[string]int{}, bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		what, why, _ := strings.Cut(line, ": ")
		words := strings.Fields(what)
		if len(words) < 3 || len(words) > 4 || len(strings.Fields(why)) < 4 {
			t.Fatalf("%s: %q is not FILE FUNCTION KIND [COUNT]: REASON", list, line)
		}
		n := 1
		if len(words) == 4 {
			if _, err := fmt.Sscan(words[3], &n); err != nil || n < 2 {
				t.Fatalf("%s: %q: a count is 2 or more", list, line)
			}
		}
		all[strings.Join(words[:3], " ")] = n
	}
	return all
}

// TestTestsWaitForEvents: a test waits for an event, a count or virtual time. What depends on the
// machine's clock otherwise has a line in the list, and a line that is no longer needed goes.
func TestTestsWaitForEvents(t *testing.T) {
	set := token.NewFileSet()
	packages, err := parse(root, set)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 50 {
		t.Fatalf("%d packages have tests", len(packages))
	}
	may := allowed(t)
	if len(may) > mostAllowed {
		t.Errorf("%s has %d lines, at most %d are allowed", list, len(may), mostAllowed)
	}
	is, where := map[string]int{}, map[string][]string{}
	for _, p := range packages {
		for path, uses := range p.uses(set) {
			for _, u := range uses {
				key := fmt.Sprintf("%s %s %s", path, u.function, u.kind)
				is[key]++
				where[key] = append(where[key], fmt.Sprintf("%s:%d", path, u.line))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if is[key] > may[key] {
			t.Errorf("%s: %d, and %s allows %d: wait for an event, a count or virtual time; a measure belongs to tests/bench or tests/rough (%s)",
				key, is[key], list, may[key], strings.Join(where[key], ", "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(may)) {
		if may[key] > is[key] {
			t.Errorf("%s allows %s %d times, and there are %d: correct the list", list, key, may[key], is[key])
		}
	}
}
