// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// The pages of docs/conformance call a requirement live if a test here has its mark. So a
// marked test fails unless it ran sluiced and read frames from a wire, and all tests together
// fail unless each marked one has run.

// witnesses are the marked tests that ran sluiced, by name.
var witnesses sync.Map

var markedTest = regexp.MustCompile(`(?m)^//conformance:.*\n(?://.*\n)*func (Test\w+)\(t \*testing\.T\) \{\n(\tsoakOnly)?`)

// marked returns the tests with a mark that make test runs.
var marked = sync.OnceValue(func() map[string]bool {
	files, _ := filepath.Glob("*_test.go") // the pattern is right
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, m := range markedTest.FindAllStringSubmatch(string(text), -1) {
			if m[2] == "" {
				found[m[1]] = true
			}
		}
	}
	return found
})

// testOf returns the name of the test that a part belongs to.
func testOf(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

// witness lets a marked test fail in the end that ran no sluiced, or read no frame.
func (l *leaf) witness() {
	name := testOf(l.t)
	if !marked()[name] {
		return
	}
	l.t.Cleanup(func() {
		_, ran := witnesses.Load(name)
		if read := l.Leaf.FramesRead(); !l.t.Skipped() && !l.t.Failed() && (!ran || read == 0) {
			l.t.Errorf("the test has a mark of conformance, and sluiced ran: %v, frames that it read: %d", ran, read)
		}
	})
}

// witnessed returns the exit status of the tests: 1 where a whole run passed, and a test with a
// mark of conformance ran no sluiced.
func witnessed(code int) int {
	if code == 0 && wholeRun() {
		for name := range marked() {
			if _, ran := witnesses.Load(name); !ran {
				fmt.Printf("%s has a mark of conformance, and ran no sluiced\n", name)
				code = 1
			}
		}
	}
	return code
}

// wholeRun reports whether all tests were to run, and could.
func wholeRun() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	_, err := os.Stat(bin + "sluiced")
	return err == nil && os.Geteuid() == 0
}

func TestMarkedTestsAreFound(t *testing.T) {
	for name, want := range map[string]bool{"TestSRv6End": true, "TestSRv6EndX": false, "TestPPFCThatIsNotObeyedIsCounted": false} {
		if marked()[name] != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
