// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/sai-shim/saitest"
)

// sanitize is what a sanitizer takes beyond what C is built with everywhere.
func sanitize(sanitizer string) []string {
	return []string{"-g", "-O1", "-fsanitize=" + sanitizer, "-fno-sanitize-recover=all"}
}

// build builds C; the test is skipped where that takes what the machine lacks.
func build(t *testing.T, sanitizer string, args ...string) {
	t.Helper()
	args = append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I.", "-Iinclude"}, args...)
	if sanitizer != "" {
		args = append(args, sanitize(sanitizer)...)
	}
	out, err := exec.Command("gcc", append(args, "-ldl")...).CombinedOutput()
	skipUnsanitized(t, string(out), err)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// shim returns arguments of gcc with the files of the shim.
func shim(args ...string) []string { return append(args, "shim.c", "arrival.c", "profile.c") }

// skipUnsanitized skips the test where an error says that there is no gcc, or no
// runtime of the sanitizer.
func skipUnsanitized(t *testing.T, said string, err error) {
	t.Helper()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("needs gcc")
	}
	if err != nil && (strings.Contains(said, "cannot find -l") || strings.Contains(said, "cannot find lib")) {
		t.Skipf("no runtime of this sanitizer: %s", said)
	}
}

// run runs a program that was built with a sanitizer.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if strings.Contains(string(out), "unexpected memory mapping") {
		t.Skipf("the sanitizer does not run on this kernel: %s", out)
	}
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	} else if len(out) > 0 {
		t.Logf("%s", out)
	}
}

// The ring of packets under the sanitizers, read by one thread and filled by one
// or several: each thread's packets come whole, in order, and taken or counted.
func TestRingKeepsThePacketsOfEachThreadInOrder(t *testing.T) {
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			dir := t.TempDir()
			library, program := filepath.Join(dir, "libpackets.so"), filepath.Join(dir, "ring")
			build(t, sanitizer, "-shared", "-fPIC", "-o", library, "testdata/packets.c")
			build(t, sanitizer, shim("-o", program, "testdata/ring.c")...)
			for _, threads := range []string{"1", "3"} {
				run(t, program, library, threads, "20000")
			}
		})
	}
}

// A library's threads may be giving a packet while the shim closes, or later.
func TestCloseWhilePacketsCome(t *testing.T) {
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			dir := t.TempDir()
			library, program := filepath.Join(dir, "libpackets.so"), filepath.Join(dir, "close")
			build(t, sanitizer, "-DSTRAY", "-shared", "-fPIC", "-o", library, "testdata/packets.c")
			build(t, sanitizer, shim("-o", program, "testdata/close.c")...)
			run(t, program, library, "3", "2000")
		})
	}
}

// A library's threads may read the profile while it is changed, and keep a value that was.
func TestProfileChangesWhileTheLibraryReadsIt(t *testing.T) {
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			dir := t.TempDir()
			library, program := filepath.Join(dir, "libreader.so"), filepath.Join(dir, "change")
			build(t, sanitizer, "-shared", "-fPIC", "-o", library, "testdata/reader.c")
			build(t, sanitizer, shim("-o", program, "testdata/change.c")...)
			run(t, program, library)
		})
	}
}

// Every function of the shim under the sanitizers, against the recording library.
func TestShimIsCleanUnderSanitizers(t *testing.T) {
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "shim")
			build(t, sanitizer, shim("-o", program, "testdata/shim.c")...)
			library, err := saitest.Build(dir, sanitize(sanitizer)...)
			if err != nil {
				skipUnsanitized(t, err.Error(), err)
				t.Fatal(err)
			}
			run(t, program, library, filepath.Join(dir, "record"))
		})
	}
}
