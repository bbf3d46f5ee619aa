// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var inCode = regexp.MustCompile("`([^`]+)`")

// TestMustsHaveTests holds MUSTS.md and the tests together.
func TestMustsHaveTests(t *testing.T) {
	text, err := os.ReadFile("MUSTS.md")
	if err != nil {
		t.Fatal(err)
	}
	there := testsIn(t, ".", "../../gnmi-server")
	named := make(map[string]bool)
	rows := 0
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "| ") || cells[0] == " section " {
			continue
		}
		if len(cells) != 3 || slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "" }) {
			t.Errorf("line %d must have a section, a demand, and tests or why there is none: %s", i+1, line)
			continue
		}
		rows++
		for _, m := range inCode.FindAllStringSubmatch(cells[2], -1) {
			named[m[1]] = true
			if !there[m[1]] {
				t.Errorf("line %d names a test that does not exist: %s", i+1, m[1])
			}
		}
	}
	for _, m := range conformance {
		if !named[m.name] {
			t.Errorf("a case is not in MUSTS.md: %s", m.name)
		}
	}
	if rows < 100 {
		t.Errorf("only %d demands were found in MUSTS.md", rows)
	}
}

// testsIn returns the names of test functions, cases and subtests of all test files
// below folders, which are constants there.
func testsIn(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, m := range conformance {
		names[m.name] = true
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
						names[n.Name.Name] = true
					}
				case *ast.CallExpr:
					f, ok := n.Fun.(*ast.SelectorExpr)
					if !ok || f.Sel.Name != "Run" || len(n.Args) != 2 {
						break
					}
					if l, ok := n.Args[0].(*ast.BasicLit); ok && l.Kind == token.STRING {
						if name, err := strconv.Unquote(l.Value); err == nil {
							names[name] = true
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
