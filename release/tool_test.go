// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// ordinary is an ordinary user, by number, for a test that runs as root.
const ordinary = 65534

// folderForAll makes a folder that every user can read.
func folderForAll(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "release")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// The archive of the tool for this machine is unpacked, and judges its own sample as an
// ordinary user.
func TestToolArchiveJudgesItsSample(t *testing.T) {
	out, root := t.TempDir(), folderForAll(t)
	run(t, "./tool.sh", out, runtime.GOOS+"/"+runtime.GOARCH)
	name := "sluice_" + strings.TrimSpace(read(t, "../VERSION")) + "_" + runtime.GOOS + "_" + runtime.GOARCH
	run(t, "tar", "-C", root, "-xzf", filepath.Join(out, name+".tar.gz"))
	at := func(file string) string { return filepath.Join(root, name, file) }
	for file, has := range map[string]string{
		"LICENSE":          "Apache License",
		"LICENSES.modules": "==== github.com/spf13/cobra",
		"share/bash-completion/completions/sluice":    "__start_sluice sluice",
		"share/zsh/vendor-completions/_sluice":        "#compdef sluice",
		"share/fish/vendor_completions.d/sluice.fish": "complete -c sluice",
		"share/man/man1/sluice-doctor.1":              "SH NAME",
		"share/man/man1/sluice.1":                     "SH NAME",
	} {
		if text := read(t, at(file)); !strings.Contains(text, has) {
			t.Errorf("%s has no %q", file, has)
		}
	}
	cmd := exec.CommandContext(t.Context(), at("bin/sluice"), "doctor", at("samples/one-port-ipv6.pcap"))
	cmd.Dir, cmd.Env = "/", []string{"PATH=/nonexistent"}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
	verdict, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(verdict), "queue pairs: 32") || !strings.Contains(string(verdict), "act ") {
		t.Errorf("%v: %s", err, verdict)
	}
}
