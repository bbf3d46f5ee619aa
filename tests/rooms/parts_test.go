// SPDX-License-Identifier: Apache-2.0

package rooms

import (
	"bytes"
	"os"
	"path/filepath"
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
