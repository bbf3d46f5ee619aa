package sai_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The ring of packets under the sanitizers, read by one thread and filled by one
// or several: each thread's packets come whole, in order, and taken or counted.
func TestRing(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			dir := t.TempDir()
			library, program := filepath.Join(dir, "libpackets.so"), filepath.Join(dir, "ring")
			flags := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-fsanitize=" + sanitizer, "-fno-sanitize-recover=all", "-I.", "-Iinclude"}
			for _, args := range [][]string{
				{"-shared", "-fPIC", "-o", library, "testdata/packets.c"},
				{"-o", program, "testdata/ring.c", "shim.c", "-ldl"},
			} {
				if out, err := exec.Command("gcc", append(flags, args...)...).CombinedOutput(); err != nil {
					if strings.Contains(string(out), "cannot find -l") || strings.Contains(string(out), "cannot find lib") {
						t.Skipf("no runtime of this sanitizer: %s", out)
					}
					t.Fatalf("%v\n%s", err, out)
				}
			}
			for _, threads := range []string{"1", "3"} {
				out, err := exec.CommandContext(t.Context(), program, library, threads, "20000").CombinedOutput()
				if strings.Contains(string(out), "unexpected memory mapping") {
					t.Skipf("the sanitizer does not run on this kernel: %s", out)
				}
				if err != nil {
					t.Errorf("%s threads: %v\n%s", threads, err, out)
				}
				t.Logf("%s threads: %s", threads, out)
			}
		})
	}
}
