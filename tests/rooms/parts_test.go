// SPDX-License-Identifier: Apache-2.0

package rooms

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Bars of the packages of sluiced's daemon: its loop was one package of 5,300 lines once, with
// a struct of 36 fields.
const (
	daemon     = root + "/orchagent-ext/daemon"
	mostLines  = 1500 // of a package, all but its tests
	mostFields = 15   // of a struct
)

func TestDaemonIsInParts(t *testing.T) {
	files, err := filepath.Glob(daemon + "/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines[filepath.Dir(name)] += bytes.Count(text, []byte("\n"))
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for where, n := range fields(file) {
			if n > mostFields {
				t.Errorf("%s: struct %s has %d fields, at most %d are allowed", name, where, n, mostFields)
			}
		}
	}
	if len(lines) < 10 {
		t.Errorf("%d packages", len(lines))
	}
	for folder, n := range lines {
		if n > mostLines {
			t.Errorf("%s has %d lines, at most %d are allowed", folder, n, mostLines)
		}
	}
}

// fields returns how many fields each struct type of a file has. An embedded one counts as one.
func fields(file *ast.File) map[string]int {
	all := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				all[spec.Name.Name] += max(1, len(f.Names))
			}
		}
		return true
	})
	return all
}

func TestFieldsAreCountedByName(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\ntype s struct { a, b int; embedded; c struct{ d, e int } }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := fields(file)["s"]; got != 4 {
		t.Errorf("%d fields, want 4", got)
	}
}
