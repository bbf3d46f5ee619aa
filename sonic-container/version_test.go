// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestOneVersion: the manifest, what make builds, what each program says, a tag and the pages
// have the version of the file VERSION; the programs add the commit behind a plus.
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
	// A tag of a release on this commit has the version, too, and pages show it.
	tags, err := exec.CommandContext(t.Context(), "git", "tag", "--points-at", "HEAD", "v*").Output()
	if err != nil {
		t.Logf("no git here: %v", err)
	}
	for _, tag := range strings.Fields(string(tags)) {
		if tag != "v"+want {
			t.Errorf("tag %s is on this commit, VERSION has %s", tag, want)
		}
	}
	shown := regexp.MustCompile(`(?m)^version +(\d+\.\d+\.\d+)`).FindAllStringSubmatch(read(t, "../docs/sonic.md"), -1)
	if len(shown) == 0 {
		t.Error("docs/sonic.md shows no version: is it read right?")
	}
	for _, v := range shown {
		if v[1] != want {
			t.Errorf("docs/sonic.md shows version %s, VERSION has %s", v[1], want)
		}
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
