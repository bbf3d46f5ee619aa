// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/tests/fabrictest"
	"sluice/tests/programs"
)

const root = "../../.." // of the repository

// build builds sluiced and the software switch, and returns their paths.
func build(t *testing.T) (sluiced, library string) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin") // where Debian has bpftool
	for _, tool := range []string{"go", "make", "gcc", "clang", "bpftool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s (make deps): %v", tool, err)
		}
	}
	daemon, err := programs.Build("./orchagent-ext/cmd/sluiced")
	if err != nil {
		t.Fatal(err)
	}
	softsai, err := programs.Softsai("library")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(daemon, "sluiced"), filepath.Join(softsai, "libsoftsai.so")
}

// The whole road on the software switch, once for each means that a switch may
// have: the row is written, labels are right (or left alone, where ECMP hashes the
// queue pair), the load is spread, nothing is lost.
func TestEveryMethod(t *testing.T) {
	fabrictest.New(t) // skips
	sluiced, library := build(t)
	for _, tt := range []struct{ method, hide string }{
		{"compute", ""},
		{"rewrite", "compute"},
		{"hash", "compute,rewrite"},
		{"udf-hash", "compute,rewrite,hash"},
	} {
		t.Run(tt.method, func(t *testing.T) {
			var stdout bytes.Buffer
			out := t.TempDir()
			err := Run(t.Context(), Config{
				Scenarios: []string{"spread"},
				Sluiced:   sluiced, Library: library,
				Profile: []string{"SLUICE_HIDE=" + tt.hide}, Captures: captures, Out: out, Stdout: &stdout, Stderr: t.Output(),
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, &stdout)
			}
			if want := "(method " + tt.method + ")"; !strings.Contains(stdout.String(), want) {
				t.Errorf("not %s:\n%s", want, &stdout)
			}
			content, err := os.ReadFile(filepath.Join(out, "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			var r report
			if err := json.Unmarshal(content, &r); err != nil {
				t.Fatal(err)
			}
			if want := 119 + sessions.Packets; r.Labels.Checked != want || r.ConfigToSwitch <= 0 {
				t.Errorf("%d labels checked, want %d; row to switch %v ms", r.Labels.Checked, want, r.ConfigToSwitch)
			}
		})
	}
}
