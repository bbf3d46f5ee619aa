// SPDX-License-Identifier: Apache-2.0

package rooms

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Bar of the packages of sluiced's daemon: its loop was one package of 5,300 lines once.
const (
	daemon    = root + "/orchagent-ext/daemon"
	mostLines = 1500 // of a package, all but its tests
)

func TestDaemonIsInParts(t *testing.T) {
	files, err := filepath.Glob(daemon + "/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines[filepath.Dir(name)] += bytes.Count(text, []byte("\n"))
	}
	if len(lines) < 5 {
		t.Errorf("%d packages", len(lines))
	}
	for folder, n := range lines {
		if n > mostLines {
			t.Errorf("%s has %d lines, at most %d are allowed", folder, n, mostLines)
		}
	}
}

// owners are texts that only some packages may have, all but their tests: a part of the daemon
// gets values of its own settings, and a package leaves the process that it is in as it is.
var owners = []struct {
	text    *regexp.Regexp
	below   string
	folders []string
}{
	{regexp.MustCompile(`config\.Snapshot\b`), daemon, []string{daemon + "/settings", daemon + "/desired"}},
	{regexp.MustCompile(`runtime\.GOMAXPROCS\([^0)]`), root + "/orchagent-ext", []string{daemon + "/process", root + "/orchagent-ext/testbed/demo"}},
}

func TestSettingsHaveOneOwner(t *testing.T) {
	for _, o := range owners {
		used := map[string]bool{}
		err := filepath.WalkDir(o.below, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !o.text.Match(text) {
				return err
			}
			folder := filepath.Dir(path)
			if used[folder] = true; !slices.Contains(o.folders, folder) {
				t.Errorf("%s has %s: only %s may", path, o.text, strings.Join(o.folders, ", "))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(used) != len(o.folders) {
			t.Errorf("%s is in %v only", o.text, used)
		}
	}
}
