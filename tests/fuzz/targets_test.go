// SPDX-License-Identifier: Apache-2.0

package fuzz

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// shipped are the folders whose parsers read text or packets from outside.
var shipped = []string{"orchagent-ext/", "gnmi-server/", "yang/", "sai-shim/"}

// found are functions of the tree, as "FOLDER NAME".
type found map[string]bool

// functions calls f with each function of the Go files of the tree.
func functions(t *testing.T, f func(folder, file string, d *ast.FuncDecl)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "build" || e.Name() == "testdata" || e.Name() == "bin" || e.Name() == ".git"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, d := range parsed.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				f(folder, e.Name(), d)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reads reports whether a function has a parameter of octets, or of anything that is read.
func reads(d *ast.FuncDecl) bool {
	for _, p := range d.Type.Params.List {
		switch kind := p.Type.(type) {
		case *ast.ArrayType:
			if of, ok := kind.Elt.(*ast.Ident); ok && kind.Len == nil && of.Name == "byte" {
				return true
			}
		case *ast.SelectorExpr:
			if kind.Sel.Name == "Reader" {
				return true
			}
		}
	}
	return false
}

// isParser reports whether a function is one by its name and parameters.
func isParser(name string, d *ast.FuncDecl) bool {
	lower := strings.ToLower(name)
	return (strings.HasPrefix(lower, "parse") || strings.HasPrefix(lower, "decode")) && reads(d)
}

// TestListOfFuzzTargetsIsThatOfTheTree: targets.txt has each fuzz target and no other, and
// each function that parses octets, with the target that runs it.
func TestListOfFuzzTargetsIsThatOfTheTree(t *testing.T) {
	text, err := os.ReadFile("targets.txt")
	if err != nil {
		t.Fatal(err)
	}
	targets, parsers := found{}, found{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			targets[words[0]+" "+words[1]] = true
			for _, name := range words[2:] {
				parsers[words[0]+" "+name] = true
			}
		}
	}
	is, all := found{}, found{}
	functions(t, func(folder, file string, d *ast.FuncDecl) {
		name := folder + " " + d.Name.Name
		switch {
		case strings.HasSuffix(file, "_test.go"):
			if strings.HasPrefix(d.Name.Name, "Fuzz") {
				is[name] = true
			}
		case slices.ContainsFunc(shipped, func(at string) bool { return strings.HasPrefix(folder+"/", at) }):
			all[name] = all[name] || isParser(d.Name.Name, d)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if !targets[name] {
			t.Errorf("%s is missing in targets.txt", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if !is[name] {
			t.Errorf("%s of targets.txt is not in the tree", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] && !parsers[name] {
			t.Errorf("the parser %s has no target in targets.txt", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parsers)) {
		if _, ok := all[name]; !ok {
			t.Errorf("the parser %s of targets.txt is not in the tree", name)
		}
	}
	if len(is) < 20 || len(parsers) < 10 {
		t.Errorf("only %d targets and %d parsers were found", len(is), len(parsers))
	}
}
