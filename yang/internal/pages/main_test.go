// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pages = "../../docs/configuration"

// copied returns a copy of the pages.
func copied(t *testing.T) string {
	t.Helper()
	t.Chdir("../../model") // where `go generate` runs it
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(pages)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPagesHaveTheFieldsOfTheModel(t *testing.T) {
	dir := copied(t)
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d pages: %v", len(files), err)
	}
	for _, file := range files {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(pages, filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what make generate writes (- the page, + the model):\n%s", filepath.Base(file), diff)
		}
	}
}

// TestOldFieldsAreReplaced: what is between the comments is written again, what is
// around them is not.
func TestOldFieldsAreReplaced(t *testing.T) {
	dir := copied(t)
	page := filepath.Join(dir, "port.md")
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	old := "Mine.\n" + strings.NewReplacer("| `role` |", "| `roles` |").Replace(string(before)) + "Mine, too.\n"
	if err := os.WriteFile(page, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Mine.\n"+string(before)+"Mine, too.\n", string(after)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryTableIsOnOnePage(t *testing.T) {
	const port = "<!-- make generate writes the fields of SLUICE_PORT from the model -->\n<!-- end of SLUICE_PORT -->\n"
	for problem, change := range map[string]func(dir string) error{
		"no page has the table SLUICE_PORT": func(dir string) error { return os.Remove(filepath.Join(dir, "port.md")) },
		"has the table SLUICE_PORT, too": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "z.md"), []byte(port), 0o644)
		},
		"the model has no table SLUICE_PART": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "z.md"), []byte(strings.ReplaceAll(port, "PORT", "PART")), 0o644)
		},
		"the fields of SLUICE_PORT end as those of SLUICE": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "port.md"), []byte(strings.ReplaceAll(port, "end of SLUICE_PORT", "end of SLUICE")), 0o644)
		},
	} {
		t.Run(problem, func(t *testing.T) {
			dir := copied(t)
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			if err := run(dir); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("got %v, want %q", err, problem)
			}
		})
	}
}
