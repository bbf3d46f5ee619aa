// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOneVersion: the manifest, what make builds and what each program says have the
// version of the file VERSION; the programs add the commit behind a plus.
func TestOneVersion(t *testing.T) {
	want := strings.TrimSpace(read(t, "../VERSION"))
	if got := theManifest(t).Package.Version; got != want {
		t.Errorf("manifest.json has version %s, VERSION %s", got, want)
	}
	made, err := exec.CommandContext(t.Context(), "make", "-s", "-C", "..", "--no-print-directory", "--eval", "say: ; @echo $(VERSION)", "say").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, made)
	}
	if version, commit, _ := strings.Cut(strings.TrimSpace(string(made)), "+"); version != want || strings.ContainsAny(commit, " -") {
		t.Errorf("make builds %s, want %s+COMMIT", made, want)
	}
	for program, says := range map[string]string{"sluiced": "sluiced ", "sluice-gnmi": "sluice-gnmi ", "sluice": "sluice version "} {
		if _, err := os.Stat("../bin/" + program); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
		out, err := exec.CommandContext(t.Context(), "../bin/"+program, "--version").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), says+want+"+") && string(out) != says+want+"\n" {
			t.Errorf("%s --version: %v: %s, want %s", program, err, out, says+want)
		}
	}
}
