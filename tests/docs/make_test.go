// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMakeHelpListsEveryTarget: each target that is no file is in `make help`.
func TestMakeHelpListsEveryTarget(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	phony := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindSubmatch(text)
	if phony == nil {
		t.Fatal("the Makefile has no .PHONY")
	}
	cmd := exec.Command("make", "help")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		listed[strings.Fields(line)[0]] = true
	}
	for _, target := range strings.Fields(string(phony[1])) {
		if !listed[target] {
			t.Errorf("make help does not list %s", target)
		}
	}
}
