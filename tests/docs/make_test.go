// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	listed := targetsOfHelp(t)
	for _, target := range strings.Fields(string(phony[1])) {
		if !slices.Contains(listed, target) {
			t.Errorf("make help does not list %s", target)
		}
	}
}

// targetsOfHelp are the targets that `make help` lists.
func targetsOfHelp(t *testing.T) (targets []string) {
	t.Helper()
	cmd := exec.Command("make", "-s", "--no-print-directory", "help") // a make may run this test
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		targets = append(targets, strings.Fields(line)[0])
	}
	return targets
}

// makers are the targets that make, install or remove something, and judge nothing.
var makers = []string{"help", "deps", "build", "profile", "tool", "tool-image", "install", "uninstall", "generate", "clean", "deb", "image", "image-tar", "arm64", "lab-down", "soak"}

// TestEachCheckIsRunBySoakOrCI: whatever target of `make help` judges something is one of
// .ci/run or of tests/soak.sh, so that none rots.
func TestEachCheckIsRunBySoakOrCI(t *testing.T) {
	var run string
	for _, file := range []string{".ci/run", "tests/soak.sh"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		run += string(text)
	}
	ci := regexp.MustCompile(`(?m)^for target in (.*); do$`).FindStringSubmatch(run)
	if ci == nil {
		t.Fatal(".ci/run has no list of targets")
	}
	checks := strings.Fields(ci[1])
	for _, m := range regexp.MustCompile(`(?m)^\s*check [a-z0-9-]+ .*$`).FindAllString(run, -1) {
		for _, one := range regexp.MustCompile(`\bmake ([a-z0-9-]+)`).FindAllStringSubmatch(m, -1) {
			checks = append(checks, one[1])
		}
	}
	for _, target := range targetsOfHelp(t) {
		if !slices.Contains(checks, target) && !slices.Contains(makers, target) {
			t.Errorf("neither .ci/run nor tests/soak.sh runs make %s", target)
		}
	}
}

// TestDepsPrintALine: make demo and make test begin with the names of packages, and not with all that
// apt-get says; where it fails, its last lines are shown.
func TestDepsPrintALine(t *testing.T) {
	for name, tt := range map[string]struct{ end, want string }{
		"installed": {"exit 0", "make deps: installing one two\n"},
		"fails":     {"echo E: no such package; exit 100", "E: no such package\nmake deps: apt-get fails"},
	} {
		t.Run(name, func(t *testing.T) {
			programs := t.TempDir()
			for program, script := range map[string]string{"dpkg-query": "", "sudo": `exec "$@"`, "apt-get": "seq 1000\n" + tt.end} {
				if err := os.WriteFile(filepath.Join(programs, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("make", "-s", "--no-print-directory", "deps", "DEPS=one two")
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir(), "MAKEFLAGS=")
			out, err := cmd.CombinedOutput()
			said := string(out)
			if fails := tt.end != "exit 0"; fails != (err != nil) || fails != (strings.Count(said, "\n") > 1) || !strings.Contains(said, tt.want) || strings.Contains(said, "\n900\n") {
				t.Errorf("%v:\n%s", err, said)
			}
		})
	}
}
