// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
)

// A library may walk through the profile in each of the ways that libraries have.
func TestProfileWalks(t *testing.T) {
	file, library := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "libprofile.so")
	build(t, "", "-shared", "-fPIC", "-o", library, "testdata/profile.c")
	l, err := sai.Open(library, map[string]string{"OUT": file, "A": "1", "B": ""}, nil)
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
	for _, walk := range []string{"first", "again", "null", "null", "part", "part", "reset"} {
		if walk == "reset" {
			want.WriteString("reset: 0\n")
		}
		want.WriteString(walk + ": A=1\n" + walk + ": B=\n")
		if walk != "part" {
			want.WriteString(walk + ": OUT=" + file + "\n")
		}
	}
	want.WriteString("after the last: -1\n")
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Error("profile, -want +got:\n" + diff)
	}
}
