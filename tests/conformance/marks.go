// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A mark links a symbol to a requirement that it implements or tests.
type mark struct {
	requirement string // as draft-yang/hop-limit
	file        string // relative to the root
	symbol      string // as flow.Algorithm.Hash, or empty
	test        bool
	soak        bool // a test that make soak alone runs
}

const directive = "//conformance:"

var (
	inC       = regexp.MustCompile(`/\* conformance: ([^*]*) \*/\n([^\n]*)`)
	functionC = regexp.MustCompile(`(\w+)\(`)
)

// marksBelow returns the marks of all Go and C files below a folder, in the order of
// their paths.
func marksBelow(root string) ([]mark, error) {
	var all []mark
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "build" || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(name)
		if ext != ".go" && ext != ".c" && ext != ".h" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		var found []mark
		switch {
		case ext != ".go":
			found = marksOfC(string(text))
		case strings.Contains(string(text), directive):
			if found, err = marksOfGo(text); err != nil {
				return err
			}
		}
		for _, m := range found {
			m.file = filepath.ToSlash(file)
			m.test = strings.HasSuffix(name, "_test.go")
			all = append(all, m)
		}
		return nil
	})
	return all, err
}

// marksOfGo returns the marks of a Go file. A mark outside the comment of a declaration
// has the symbol "".
func marksOfGo(text []byte) ([]mark, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	symbols, soak := make(map[*ast.CommentGroup]string), make(map[*ast.CommentGroup]bool)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			symbols[d.Doc] = file.Name.Name + "." + receiver(d) + d.Name.Name
			soak[d.Doc] = d.Doc != nil && isSoak(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				name, doc := "", d.Doc
				switch s := s.(type) {
				case *ast.TypeSpec:
					name = s.Name.Name
					if s.Doc != nil {
						doc = s.Doc
					}
				case *ast.ValueSpec:
					name = s.Names[0].Name
					if s.Doc != nil {
						doc = s.Doc
					}
				}
				if symbols[doc] == "" {
					symbols[doc] = file.Name.Name + "." + name
				}
			}
		}
	}
	var all []mark
	for _, group := range file.Comments {
		for _, c := range group.List {
			rest, ok := strings.CutPrefix(c.Text, directive)
			if !ok {
				continue
			}
			for _, requirement := range strings.Fields(rest) {
				all = append(all, mark{requirement: requirement, symbol: symbols[group], soak: soak[group]})
			}
		}
	}
	return all, nil
}

// isSoak reports whether a test leaves where make test runs it.
func isSoak(d *ast.FuncDecl) bool {
	if d.Body == nil {
		return false
	}
	for _, statement := range d.Body.List {
		if e, ok := statement.(*ast.ExprStmt); ok {
			if call, ok := e.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "soakOnly" {
					return true
				}
			}
		}
	}
	return false
}

// receiver is the type of a method, with a dot.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "."
		default:
			return ""
		}
	}
}

// marksOfC returns the marks of a C file: each above the first line of a function.
func marksOfC(text string) (all []mark) {
	for _, m := range inC.FindAllStringSubmatch(text, -1) {
		symbol := ""
		if f := functionC.FindStringSubmatch(m[2]); f != nil {
			symbol = f[1]
		}
		for _, requirement := range strings.Fields(m[1]) {
			all = append(all, mark{requirement: requirement, symbol: symbol})
		}
	}
	return all
}
