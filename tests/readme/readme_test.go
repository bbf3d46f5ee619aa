// SPDX-License-Identifier: Apache-2.0

package readme

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root   = "../.."
	readme = root + "/README.md"
)

// onSonic are commands that only a switch with SONiC has, or that end there. The
// image and its commands are tested in sonic-container.
var onSonic = []string{"make image-tar", "scp ", "sudo sonic-package-manager ", "sudo config feature ", "docker run ", "    --", "    -e ", "    -v ",
	"sudo mkdir -p /etc/sonic/sluice", "echo SLUICE_SAI_LIBRARY=", "echo SLUICE_METRICS=", "sudo systemctl restart sluice", "sudo rm -r /etc/sonic/sluice"}

var update = flag.Bool("update", false, "write what the commands print into the README")

func TestReadme(t *testing.T) {
	b, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	run, _, notRun, err := parse(string(b))
	if err != nil {
		t.Fatalf("README.md: %v", err)
	}
	if len(run) == 0 {
		t.Fatal("README.md: no command to run: is the page read right?")
	}
	for _, line := range notRun {
		if !slices.ContainsFunc(onSonic, func(start string) bool { return strings.HasPrefix(line, start) }) {
			t.Errorf("README.md: nothing runs %q; what only SONiC has begins with one of %q", line, onSonic)
		}
	}

	dir := workplace(t)
	outputs := make([][]string, len(run))
	for i, c := range run {
		outputs[i] = c.output
		if fields := strings.Fields(c.text); fields[0] == "make" {
			checkTarget(t, c, fields[1:])
			continue
		}
		got := execute(t, dir, c)
		switch {
		case matches(c.output, got):
		case *update:
			outputs[i] = got
		default:
			t.Errorf("README.md:%d: $ %s\nprints something else (- the README, + the command; go test ./tests/readme -update writes it):\n%s",
				c.line, c.text, cmp.Diff(strings.Join(c.output, "\n"), strings.Join(got, "\n")))
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(readme, []byte(replace(string(b), run, outputs)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// workplace makes the folder that the commands run in: bin/sluice, built from
// the source as it is, and a copy of the captures.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "tests/captures"), os.DirFS(filepath.Join(root, "tests/captures"))); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "bin/sluice"), "./orchagent-ext/cmd/sluice")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return dir
}

// execute runs one command in dir and returns the lines it prints: those of
// stdout, then those of stderr, since the order between them is chance in a pipe.
func execute(t *testing.T, dir string, c command) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", c.text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C.UTF-8")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("README.md:%d: $ %s: %v\n%s", c.line, c.text, err, stderr.String())
	}
	text := strings.TrimSuffix(stdout.String()+stderr.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// checkTarget checks that make knows what a command of the README asks for.
func checkTarget(t *testing.T, c command, args []string) {
	t.Helper()
	if len(c.output) > 0 {
		t.Errorf("README.md:%d: $ %s: make is not run here, so the README shows no output of it", c.line, c.text)
	}
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-n"}, args...)...)
	cmd.Dir = root
	// What `make test` hands down is not for this make.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=")
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("README.md:%d: $ %s: %v\n%s", c.line, c.text, err, out)
	}
}
