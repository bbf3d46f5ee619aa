// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// built makes the packages in a folder of the test's own, and returns the path of sluice.
func built(t *testing.T) string {
	t.Helper()
	for _, file := range []string{"sluice", "sluice-lab", "sluiced", "sluice-gnmi", "libsoftsai.so"} {
		if _, err := os.Stat("../bin/" + file); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("needs Debian's dpkg-deb")
	}
	dir := t.TempDir()
	run(t, "./build.sh", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	rest := "_" + version(t) + "_" + run(t, "dpkg", "--print-architecture") + ".deb"
	sluice := filepath.Join(dir, "sluice"+rest)
	if want := []string{filepath.Join(dir, "sluice-lab"+rest), sluice}; err != nil || !slices.Equal(files, want) {
		t.Fatalf("build.sh made %q, %v; want %q", files, err, want)
	}
	return sluice
}

func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// run returns what a program prints; it must exit with 0.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// maintainer is the project, or who builds the package.
func maintainer() string {
	name, email := "Sluice maintainers", "maintainers@sluice-project.example"
	if v := os.Getenv("DEBFULLNAME"); v != "" {
		name = v
	}
	if v := os.Getenv("DEBEMAIL"); v != "" {
		email = v
	}
	return name + " <" + email + ">"
}

func TestPackageHasWhatItInstalls(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("builds the package, which tests/docs installs: make soak")
	}
	deb := built(t)
	root := t.TempDir()
	run(t, "dpkg-deb", "--raw-extract", deb, root)
	for _, c := range []struct{ file, has string }{
		{"DEBIAN/control", "Version: " + version(t) + "\n"},
		{"DEBIAN/control", "Depends: libbpf1, libnl-3-200, libnl-route-3-200, libc6 (>= 2."},
		{"DEBIAN/control", "Maintainer: " + maintainer() + "\n"},
		{"DEBIAN/postinst", "nothing is started. sluice doctor judges this machine; "},
		{"DEBIAN/conffiles", "/etc/sluice/database_config.json\n/etc/sluice/redis.conf\n/etc/sluice/sluiced.env\n"},
		{"etc/sluice/sluiced.env", "\nSLUICE_SAI_LIBRARY=/usr/lib/sluice/libsoftsai.so\n"},
		{"usr/lib/sluice/environment.sh", "\nread_environment() {"},
		{"usr/share/bash-completion/completions/sluice", "complete -o default -F __start_sluice sluice"},
		{"usr/share/zsh/vendor-completions/_sluice", "#compdef sluice"},
		{"usr/share/fish/vendor_completions.d/sluice.fish", "complete -c sluice"},
		{"usr/share/doc/sluice/copyright", "Apache-2.0"},
		{"lib/systemd/system/sluice-gnmi.service", "ExecStart=/usr/bin/sluice-gnmi "},
	} {
		text, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), c.has) {
			t.Errorf("%s has no %q:\n%s", c.file, c.has, text)
		}
	}
	for packed, has := range map[string]string{
		"changelog.gz":    "sluice (" + version(t) + ") unstable;",
		"CHANGELOG.md.gz": "# Changelog",
		"modules.gz":      "==== github.com/spf13/cobra LICENSE.txt",
	} {
		if text := run(t, "gzip", "-cd", filepath.Join(root, "usr/share/doc/sluice", packed)); !strings.Contains(text, has) {
			t.Errorf("%s has no %q", packed, has)
		}
	}
	for program, want := range map[string]string{"sluice": "sluice version ", "sluiced": "sluiced ", "sluice-gnmi": "sluice-gnmi "} {
		if said := run(t, filepath.Join(root, "usr/bin", program), "--version"); !strings.HasPrefix(said, want+version(t)) {
			t.Errorf("%s --version: %q, want %s", program, said, want+version(t))
		}
	}
	for _, model := range []string{"sonic-sluice.yang", "sonic-sluice-state.yang"} {
		run(t, "cmp", "../yang/"+model, filepath.Join(root, "usr/share/sluice/yang", model))
	}
	checkSums(t, root, 30)
	checkManual(t, root)
	checkLab(t, root, strings.Replace(deb, "/sluice_", "/sluice-lab_", 1))
}

// checkLab: the package of the laboratory has its program, and no file of the other package; that
// has no generator of traffic or messages.
func checkLab(t *testing.T, sluice, deb string) {
	t.Helper()
	root := t.TempDir()
	run(t, "dpkg-deb", "--raw-extract", deb, root)
	if control := run(t, "cat", filepath.Join(root, "DEBIAN/control")); !strings.Contains(control, "Package: sluice-lab\n") || !strings.Contains(control, "\nDepends: sluice (= "+version(t)+"), ") {
		t.Error(control)
	}
	if said := run(t, filepath.Join(root, "usr/bin/sluice-lab"), "--version"); !strings.HasPrefix(said, "sluice-lab version "+version(t)) {
		t.Error(said)
	}
	for _, name := range []string{"usr/bin/sluice-lab", "usr/share/man/man1/sluice-lab-gen.1.gz", "usr/share/man/man1/sluice-lab-send-pfcm.1.gz", "usr/share/bash-completion/completions/sluice-lab"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(sluice, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the package sluice has %s: %v", name, err)
		}
	}
	checkSums(t, root, 10)
}

// checkSums: md5sums has all files but the conffiles, and they agree.
func checkSums(t *testing.T, root string, least int) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(root, "DEBIAN/md5sums"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	err = filepath.WalkDir(filepath.Join(root, "usr"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			count++
			if name := strings.TrimPrefix(path, root+"/"); !strings.Contains(string(sums), "  "+name+"\n") {
				t.Errorf("md5sums has no %s", name)
			}
		}
		return err
	})
	if err != nil || count < least {
		t.Errorf("%d files in /usr, %v", count, err)
	}
	run(t, "sh", "-c", `cd "$1" && md5sum --quiet -c DEBIAN/md5sums`, "sh", root)
}

// checkManual: each command and each of its flags has its manual.
func checkManual(t *testing.T, root string) {
	t.Helper()
	pages := filepath.Join(root, "usr/share/man")
	for page, flags := range map[string][]string{
		"man8/sluiced.8":       longFlags(t, "sluiced"),
		"man8/sluice-gnmi.8":   longFlags(t, "sluice-gnmi"),
		"man1/sluice-decode.1": {"json", "flows"},
		"man1/sluice-top.1":    {"once", "db-config"},
		"man1/sluice-listen.1": {"dev"},
	} {
		text := strings.ReplaceAll(run(t, "gzip", "-cd", filepath.Join(pages, page+".gz")), `\-`, "-")
		for _, flag := range flags {
			if !strings.Contains(text, "--"+flag+`\f`) {
				t.Errorf("%s has no --%s", page, flag)
			}
		}
	}
	commands := 0
	for line := range strings.Lines(run(t, "../bin/sluice", "__complete", "")) {
		name, _, ok := strings.Cut(line, "\t")
		if !ok || name == "completion" || name == "help" {
			continue
		}
		commands++
		if _, err := os.Stat(filepath.Join(pages, "man1/sluice-"+name+".1.gz")); err != nil {
			t.Error(err)
		}
	}
	if commands < 15 {
		t.Errorf("sluice has %d commands: are they read right?", commands)
	}
}

// longFlags returns the flags of a daemon, which must be many.
func longFlags(t *testing.T, daemon string) []string {
	t.Helper()
	var flags []string
	for line := range strings.Lines(run(t, "../bin/"+daemon, "--help")) {
		if flag, ok := strings.CutPrefix(strings.TrimSpace(line), "--"); ok {
			flags = append(flags, strings.Fields(flag)[0])
		}
	}
	if len(flags) < 15 {
		t.Fatalf("%s --help shows %q: is it read right?", daemon, flags)
	}
	return flags
}

func TestPackageIsTheSameWhenBuiltAgain(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("takes two builds: make soak")
	}
	run(t, "cmp", built(t), built(t))
}

func TestLintianFindsNoError(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("takes longer than all other tests here: make soak")
	}
	if _, err := exec.LookPath("lintian"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("lintian is not installed: make deps")
	}
	out, err := exec.CommandContext(t.Context(), "lintian", "--allow-root", "--fail-on", "error", built(t)).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
