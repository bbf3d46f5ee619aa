// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// longEnough is the least deadline, in seconds, for an event of another process or goroutine on
// a machine under load.
const longEnough = 30

// use is one place where a test depends on the machine's clock.
type use struct {
	function string // its name, and those of the function literals' owner
	line     int
	kind     string // sleep, duration or deadline
}

// a packageOf has the parsed test files of one folder, by path.
type packageOf map[string]*ast.File

// parse reads all test files below a root, by folder, but for measures: those of bench and
// rough, and benchmarks.
func parse(root string, set *token.FileSet) (map[string]packageOf, error) {
	all := map[string]packageOf{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && (name == "build" || name == "bin" || strings.HasPrefix(name, ".git") || d.Name() == "testdata" || name == "tests/bench" || name == "tests/rough"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(name))
		if all[folder] == nil {
			all[folder] = packageOf{}
		}
		all[folder][name] = file
		return nil
	})
	return all, err
}

// calls reports whether an expression is a call of a function of a package.
func calls(e ast.Node, pkg string, names ...string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, f.Sel.Name)
}

// has reports whether a node contains another that is so.
func has(in ast.Node, is func(ast.Node) bool) (found bool) {
	if in == nil {
		return false
	}
	ast.Inspect(in, func(n ast.Node) bool {
		found = found || n != nil && is(n)
		return !found
	})
	return found
}

// virtual returns the functions of a package whose time is that of a synctest bubble: all that
// name them are in a bubble, or in such a function.
func (p packageOf) virtual() map[string]bool {
	declared := map[string]bool{}
	for _, f := range p {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !strings.HasPrefix(d.Name.Name, "Test") {
				declared[d.Name.Name] = true
			}
		}
	}
	is := map[string]bool{}
	for {
		inside, outside := map[string]bool{}, map[string]bool{}
		for _, f := range p {
			for _, d := range f.Decls {
				name, bubble := "", 0
				if d, ok := d.(*ast.FuncDecl); ok {
					name = d.Name.Name
				}
				walk(d, func(n ast.Node, enter bool) {
					if calls(n, "synctest", "Test") {
						bubble += map[bool]int{true: 1, false: -1}[enter]
					}
					id, ok := n.(*ast.Ident)
					if !ok || !enter || !declared[id.Name] || id.Name == name {
						return
					}
					if bubble > 0 || is[name] {
						inside[id.Name] = true
					} else {
						outside[id.Name] = true
					}
				})
			}
		}
		more := false
		for name := range inside {
			if !outside[name] && !is[name] {
				is[name], more = true, true
			}
		}
		if !more {
			return is
		}
	}
}

// walk calls f with each node, before and after those in it.
func walk(in ast.Node, f func(n ast.Node, enter bool)) {
	var within []ast.Node
	ast.Inspect(in, func(n ast.Node) bool {
		if n == nil {
			f(within[len(within)-1], false)
			within = within[:len(within)-1]
			return true
		}
		within = append(within, n)
		f(n, true)
		return true
	})
}

// uses returns where a package's tests depend on the machine's clock, by file.
func (p packageOf) uses(set *token.FileSet) map[string][]use {
	virtual, all := p.virtual(), map[string][]use{}
	for path, file := range p {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || virtual[f.Name.Name] || strings.HasPrefix(f.Name.Name, "Benchmark") {
				continue
			}
			for _, u := range usesOf(f) {
				all[path] = append(all[path], use{f.Name.Name, set.Position(u.at).Line, u.kind})
			}
		}
	}
	return all
}

type found struct {
	at   token.Pos
	kind string
}

// usesOf returns those of one function.
func usesOf(f *ast.FuncDecl) (all []found) {
	measured, polls, bubble := measures(f.Body), map[ast.Node]bool{}, 0
	isMeasure := func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		return calls(n, "time", "Since", "Until") || ok && measured[id.Name]
	}
	walk(f.Body, func(n ast.Node, enter bool) {
		if calls(n, "synctest", "Test") {
			bubble += map[bool]int{true: 1, false: -1}[enter]
		}
		if !enter || bubble > 0 {
			return
		}
		switch n := n.(type) {
		case *ast.ForStmt: // a poll with a deadline; another event may end it in a select
			if n.Init != nil && has(n.Init, func(n ast.Node) bool { return calls(n, "time", "Now") }) {
				polls[n.Post] = true
				ast.Inspect(n.Body, func(in ast.Node) bool {
					if c, ok := in.(*ast.CommClause); ok {
						polls[c] = true
					}
					return true
				})
			}
		case *ast.CommClause: // of a select: a sleep that something else may end, or a deadline
			if wait, ok := n.Comm.(*ast.ExprStmt); ok && afterOf(wait) != nil {
				polls[wait] = true
				if s, ok := seconds(afterOf(wait)); ok && s < longEnough && !polls[n] {
					all = append(all, found{n.Pos(), "deadline"})
				}
			}
		case *ast.ExprStmt:
			if (calls(n.X, "time", "Sleep") || afterOf(n) != nil) && !polls[n] {
				all = append(all, found{n.Pos(), "sleep"})
			}
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LSS, token.GTR, token.LEQ, token.GEQ:
				if has(n.X, isMeasure) || has(n.Y, isMeasure) {
					all = append(all, found{n.Pos(), "duration"})
				}
			}
		case *ast.CallExpr:
			add, ok := n.Fun.(*ast.SelectorExpr)
			if calls(n, "context", "WithTimeout") || ok && add.Sel.Name == "Add" && calls(add.X, "time", "Now") {
				if s, ok := seconds(n.Args[len(n.Args)-1]); ok && s < longEnough {
					all = append(all, found{n.Pos(), "deadline"})
				}
			}
		}
	})
	return all
}

// afterOf returns the time of a statement that receives from time.After; nil: it does not.
func afterOf(s *ast.ExprStmt) ast.Expr {
	receive, ok := s.X.(*ast.UnaryExpr)
	if !ok || receive.Op != token.ARROW || !calls(receive.X, "time", "After") {
		return nil
	}
	return receive.X.(*ast.CallExpr).Args[0]
}

// measures returns the variables of a function that have a duration that was measured.
func measures(body ast.Node) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) {
			return true
		}
		for i, right := range a.Rhs {
			if id, ok := a.Lhs[i].(*ast.Ident); ok && !isAppend(right) && has(right, func(n ast.Node) bool { return calls(n, "time", "Since", "Until") }) {
				all[id.Name] = true
			}
		}
		return true
	})
	return all
}

// isAppend reports whether an expression adds to a slice, whose length is a count.
func isAppend(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.Ident)
	return ok && f.Name == "append"
}

// seconds returns a duration that is written as a number of a unit, in seconds.
func seconds(e ast.Expr) (float64, bool) {
	unit := func(e ast.Expr) (float64, bool) {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return 0, false
		}
		n, ok := map[string]float64{"Nanosecond": 1e-9, "Microsecond": 1e-6, "Millisecond": 1e-3, "Second": 1, "Minute": 60, "Hour": 3600}[s.Sel.Name]
		return n, ok
	}
	if n, ok := unit(e); ok {
		return n, true
	}
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.MUL {
		return 0, false
	}
	for _, of := range [2][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
		number, ok := of[0].(*ast.BasicLit)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number.Value, 64)
		if u, ok := unit(of[1]); ok && err == nil {
			return n * u, true
		}
	}
	return 0, false
}
