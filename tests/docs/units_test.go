// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// systemctl is the stand-in for it in a box, which has no systemd.
const systemctl = root + "/debian/testdata/systemctl"

// packaged puts the Debian package where make deb puts it, and a systemctl, into a
// box that has the folder of the source at here.
func packaged(t *testing.T, b *box, here string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), filepath.Join(root, "debian/build.sh"), dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.install(systemctl)
	b.run("/", "mv /usr/local/bin/systemctl /usr/bin/systemctl") // apt-get looks there alone
	debs, err := filepath.Glob(filepath.Join(dir, "sluice_*.deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("packages %q, %v", debs, err)
	}
	text, err := os.ReadFile(debs[0])
	if err != nil {
		t.Fatal(err)
	}
	release := filepath.Join(here, "build/release")
	b.run("/", "rm -rf "+release+"; mkdir -p "+release)
	if err := os.WriteFile(filepath.Join("/proc", b.pid, "root", b.root, release, filepath.Base(debs[0])), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
