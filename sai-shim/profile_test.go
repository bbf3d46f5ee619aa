package sai_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
)

// build builds a library of one file.
func build(t *testing.T, source string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	library := filepath.Join(t.TempDir(), "lib.so")
	out, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Iinclude", "-o", library, source).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

func TestProfileWalks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	l, err := sai.Open(build(t, "testdata/profile.c"), map[string]string{"OUT": file, "A": "1", "B": ""})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("get: nothing\n")
	for _, walk := range []string{"first", "again", "reset"} {
		if walk == "reset" {
			want.WriteString("reset: 0\n")
		}
		want.WriteString(walk + ": A=1\n" + walk + ": B=\n" + walk + ": OUT=" + file + "\n")
	}
	want.WriteString("behind the last: -1\n")
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Error("profile, -want +got:\n" + diff)
	}
}
