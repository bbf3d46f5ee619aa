// SPDX-License-Identifier: Apache-2.0

// Package profile does the work by whose CPU profile the programs are compiled, see `make profile`:
// that of sluice with captures. The packages' own benchmarks do what sluiced does with packets.
package profile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sluice/orchagent-ext/cli"
	"sluice/orchagent-ext/testbed/lab"
)

const root = "../.."

// run runs a command, which has to succeed.
func run(t testing.TB, program func(ctx context.Context, version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int, args ...string) {
	t.Helper()
	var said bytes.Buffer
	if status := program(t.Context(), "profile", args, nil, io.Discard, &said); status != 0 {
		t.Fatalf("%q: status %d: %s", args, status, &said)
	}
}

// generate writes captures of 8192 queue pairs of 128 host pairs: with one UDP source port, and with
// a port for each queue pair.
func generate(t testing.TB, packets int) (files []string) {
	t.Helper()
	for _, sport := range []string{"constant", "per-qp"} {
		file := filepath.Join(t.TempDir(), sport+".pcap")
		run(t, lab.Run, "gen", file, "--pairs", "128", "--qps", "64", "--packets", strconv.Itoa(packets), "--sport", sport)
		files = append(files, file)
	}
	return files
}

func read(t testing.TB, files []string) {
	t.Helper()
	for _, file := range files {
		run(t, cli.Run, "decode", "--flows", file)
		run(t, cli.Run, "decode", "--flows", file, "--health", "--icrc")
		run(t, cli.Run, "doctor", file)
	}
}

// TestWork does the work once, so that make profile can when it is asked to.
func TestWork(t *testing.T) { read(t, generate(t, 1000)) }

func BenchmarkCaptures(b *testing.B) {
	files := generate(b, 400000)
	for b.Loop() {
		read(b, files)
	}
}

// TestProfileIsOfToday: the functions of Sluice that took most of the time are in the source, or
// make profile is to be run again: the compiler leaves out without a word what it does not find.
func TestProfileIsOfToday(t *testing.T) {
	cmd := exec.Command("go", "tool", "pprof", "-top", "-unit=ms", "-nodecount=200", "orchagent-ext/cmd/cpu.pgo")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ +([0-9]+)ms .* sluice/([^.\n]+)\.(?:init\.)?([^\n]*?)(?: \(inline\))?$`).FindAllStringSubmatch(string(out), -1)
	var all, gone int
	for _, line := range lines {
		took, err := strconv.Atoi(line[1])
		if err != nil {
			t.Fatal(err)
		}
		if all += took; !declared(t, line[2], line[3]) {
			gone += took
			t.Logf("%s.%s, %d ms, is gone", line[2], line[3], took)
		}
	}
	if len(lines) < 50 || gone*10 > all {
		t.Errorf("of %d functions with %d ms, %d ms are of functions that are gone: run make profile", len(lines), all, gone)
	}
}

// TestProgramsAreCompiledByTheProfile: wherever a program that is shipped is built, it is by the
// profile; without it all works, and takes longer.
func TestProgramsAreCompiledByTheProfile(t *testing.T) {
	builds := 0
	for _, file := range []string{"Makefile", "release/tool.sh"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "go build") || !strings.Contains(line, "main.version=") {
				continue
			}
			if builds++; !strings.Contains(line, " -pgo=") {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
	if builds < 4 { // the programs, the tool alone, for arm64, the tool's archives
		t.Errorf("%d builds found", builds)
	}
}

// declared looks for a function of a package, such as (*Table).fetch.func1.
func declared(t *testing.T, pkg, function string) bool {
	t.Helper()
	name := regexp.MustCompile(`\[[^]]*\]|\.func[0-9.]+.*$`).ReplaceAllString(function, "")
	receiver, method, found := strings.Cut(name, ".")
	pattern := fmt.Sprintf(`(?m)^func %s[[(]`, regexp.QuoteMeta(receiver))
	if found {
		receiver = strings.Trim(receiver, "(*)")
		pattern = fmt.Sprintf(`(?m)^func \(\w* ?\*?%s(\[\w+\])?\) %s\(`, regexp.QuoteMeta(receiver), regexp.QuoteMeta(method))
	}
	files, err := filepath.Glob(filepath.Join(root, strings.TrimSuffix(pkg, "_test"), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(pattern).Match(text) {
			return true
		}
	}
	return false
}
