// SPDX-License-Identifier: Apache-2.0

// Package softsai_test tests libsoftsai.so as those who load it see it: a driver
// process in a network namespace of its own makes SAI calls, and frames go
// through the switch, by real links or by BPF_PROG_TEST_RUN. The library and the
// driver are built with ASan and UBSan.
package softsai_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sluice/tests/programs"
)

// built is where the library and the programs are, or why they are not.
var built struct {
	dir    string
	before bool // the tests ran: the folder has everything that they build
	reason string
}

// builtBefore names a folder with what the tests would build here: on a machine without a
// compiler, see tests/kernels.
const builtBefore = "SOFTSAI_BUILT"

func TestMain(m *testing.M) {
	flag.DurationVar(&patience, "patience", patience, "how long a test waits for what takes milliseconds on an idle machine")
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if built.dir = os.Getenv(builtBefore); built.dir != "" {
		built.before = true
		return m.Run()
	}
	for _, tool := range []string{"gcc", "clang", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			built.reason = fmt.Sprintf("needs %s to build the library", tool)
			return m.Run()
		}
	}
	var err error
	if built.dir, err = programs.Softsai("tests", "SANITIZE=1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// program is the path of a program or library that was built.
func program(t testing.TB, name string) string {
	t.Helper()
	if built.reason != "" {
		t.Skip(built.reason)
	}
	return filepath.Join(built.dir, name)
}

// buildWith builds the library alone once more, with options of make, and returns it.
func buildWith(t testing.TB, options ...string) string {
	t.Helper()
	program(t, "libsoftsai.so")
	if built.before {
		return filepath.Join(built.dir, filepath.Join(options...), "libsoftsai.so")
	}
	dir, err := programs.Softsai("library", append([]string{"SANITIZE=1"}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "libsoftsai.so")
}

// What needs no kernel, in C under the sanitizers.
func TestUnitsPassUnderSanitizers(t *testing.T) {
	out, err := exec.Command(program(t, "unit")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
