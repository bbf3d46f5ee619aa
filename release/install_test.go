// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run returns what a program prints; it must exit with 0.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// make install puts all below its prefix, units and environment name what is there, and
// what the operator changed in /etc/sluice stays.
func TestInstallBelowAPrefix(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("writes all manual pages: make soak")
	}
	root := t.TempDir()
	run(t, "make", "-s", "-C", "..", "install", "PREFIX=/opt/sluice", "DESTDIR="+root)
	for _, file := range []string{
		"bin/sluiced", "bin/sluice-gnmi", "lib/sluice/libsoftsai.so", "share/sluice/yang/sonic-sluice.yang",
		"share/man/man8/sluiced.8", "share/man/man1/sluice-decode.1", "share/bash-completion/completions/sluice",
	} {
		if _, err := os.Stat(filepath.Join(root, "opt/sluice", file)); err != nil {
			t.Error(err)
		}
	}
	if said := run(t, filepath.Join(root, "opt/sluice/bin/sluice"), "--version"); !strings.HasPrefix(said, "sluice version "+strings.TrimSpace(read(t, "../VERSION"))) {
		t.Error(said)
	}
	if unit := read(t, filepath.Join(root, "opt/sluice/lib/systemd/system/sluiced.service")); !strings.Contains(unit, "\nExecStart=/opt/sluice/bin/sluiced\n") {
		t.Error(unit)
	}
	env := filepath.Join(root, "etc/sluice/sluiced.env")
	if text := read(t, env); !strings.Contains(text, "\nSLUICE_SAI_LIBRARY=/opt/sluice/lib/sluice/libsoftsai.so\n") {
		t.Error(text)
	}
	if err := os.WriteFile(env, []byte("SLUICE_METRICS=off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "make", "-s", "-C", "..", "install", "PREFIX=/opt/sluice", "DESTDIR="+root)
	if text := read(t, env); text != "SLUICE_METRICS=off\n" {
		t.Errorf("a second installation wrote %s", text)
	}
}

// make uninstall removes what make install has installed, and nothing else: what was there
// before, and the operator's configuration, stay.
func TestUninstallRemovesWhatWasInstalled(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("writes all manual pages: make soak")
	}
	root := t.TempDir()
	if said, err := exec.CommandContext(t.Context(), "./uninstall.sh", "/usr/local", root).CombinedOutput(); err == nil || !strings.Contains(string(said), "nothing is installed") {
		t.Errorf("before the installation: %v, %s", err, said)
	}
	for _, file := range []string{"usr/local/bin/other", "usr/local/share/man/man1/other.1"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755), os.WriteFile(filepath.Join(root, file), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, root)
	for range 2 { // the second is an upgrade
		run(t, "make", "-s", "-C", "..", "install", "DESTDIR="+root)
	}
	said := run(t, "make", "-s", "-C", "..", "uninstall", "DESTDIR="+root)
	if want := root + "/etc/sluice and " + root + "/var/lib/sluice are kept"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/sluice/sluiced.env")); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "etc")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("before the installation (-), after its end (+):\n%s", diff)
	}
}

// tree returns the names of all files and folders below a folder.
func tree(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What make release made, if it is there, is whole.
func TestReleaseIsWhole(t *testing.T) {
	const folder = "../build/release/"
	if _, err := os.Stat(folder + "SHA256SUMS"); err != nil {
		t.Skipf("needs what make release makes: %v", err)
	}
	version := strings.TrimSpace(read(t, "../VERSION"))
	run(t, "sh", "-c", "cd "+folder+" && sha256sum --quiet --strict -c SHA256SUMS")
	sums := read(t, folder+"SHA256SUMS")
	for _, file := range []string{"sluice_VERSION_amd64.deb", "sluice_VERSION_arm64.deb", "sluice-lab_VERSION_amd64.deb", "sluice-lab_VERSION_arm64.deb", "docker-sluice_VERSION_amd64.tar.gz", "docker-sluice-tool_VERSION_amd64.tar.gz",
		"sluice_VERSION_linux_amd64.tar.gz", "sluice_VERSION_linux_arm64.tar.gz", "sluice_VERSION_darwin_amd64.tar.gz", "sluice_VERSION_darwin_arm64.tar.gz", "sluice-yang_VERSION.tar.gz", "sluice_VERSION.cdx.json"} {
		if file = strings.ReplaceAll(file, "VERSION", version); !strings.Contains(sums, "  "+file+"\n") {
			t.Errorf("there is no %s", file)
		}
	}
	for arch, says := range map[string]string{"amd64": "x86-64", "arm64": "ARM aarch64"} {
		deb := folder + "sluice_" + version + "_" + arch + ".deb"
		if got := run(t, "dpkg-deb", "--field", deb, "Architecture"); got != arch {
			t.Errorf("%s is of %s", deb, got)
		}
		root := t.TempDir()
		run(t, "dpkg-deb", "--extract", deb, root)
		for _, file := range []string{"usr/bin/sluice", "usr/bin/sluiced", "usr/bin/sluice-gnmi", "usr/lib/sluice/libsoftsai.so"} {
			header := read(t, filepath.Join(root, file))[:20]
			if machine := map[byte]string{0x3e: "x86-64", 0xb7: "ARM aarch64"}[header[18]]; machine != says {
				t.Errorf("%s of %s is of %s", file, arch, machine)
			}
		}
	}
	if bill := read(t, folder+"sluice_"+version+".cdx.json"); !strings.Contains(bill, `"purl": "pkg:golang/github.com/redis/go-redis/v9@`) || !strings.Contains(bill, `"id": "BSD-2-Clause"`) {
		t.Errorf("the bill of materials has no go-redis with its license")
	}
}
