// SPDX-License-Identifier: Apache-2.0

package rooms

import (
	"fmt"
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

// Bars of a type. Records, rows and configuration have many fields and hardly a method.
const (
	mostFields  = 20 // of a struct with fewMethods or more
	fewMethods  = 8
	mostMethods = 35
)

// Trees whose types are counted, and the types that are exempt: the accessors of a packet's
// headers, and the calls of a SAI library.
var (
	counted = []string{"orchagent-ext", "gnmi-server", "yang", "sai-shim"}
	exempt  = []string{"orchagent-ext/wire/roce.Packet", "sai-shim.Library"}
)

// shape is the size of a type.
type shape struct{ fields, methods int }

func (s shape) above() bool {
	return s.fields > mostFields && s.methods >= fewMethods || s.methods > mostMethods
}

// declared is a type of a package as its files declare it.
type declared struct {
	own     int      // fields of its own, but for those of parts
	parts   []string // types of the same package that it embeds or holds by value, once each field
	embeds  map[string]bool
	methods int
	holders int // structs that hold it by value
}

// piece reports whether a struct that holds the type by value has its fields as its own: an
// unexported type without methods, held by one struct, is a part of that struct in name only.
func (d *declared) piece(name string) bool {
	return d != nil && !ast.IsExported(name) && d.methods == 0 && d.holders == 1
}

// shapes returns the size of each type that Go files of a package declare. A function whose
// first parameter is a pointer to a type of the package counts as its method. Embedded structs
// of the package, and pieces of one, count by their fields.
func shapes(files []*ast.File) map[string]shape {
	types := map[string]*declared{}
	get := func(name string) *declared {
		if types[name] == nil {
			types[name] = &declared{embeds: map[string]bool{}}
		}
		return types[name]
	}
	structs := map[string]bool{}
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := methodOf(d); of != "" {
					get(of).methods++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					spec, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if s, ok := spec.Type.(*ast.StructType); ok {
						structs[spec.Name.Name] = true
						count(get(spec.Name.Name), s)
					}
				}
			}
		}
	}
	for _, d := range types {
		for _, p := range d.parts {
			if structs[p] {
				types[p].holders++
			}
		}
	}
	var fields func(d *declared, seen map[string]bool) int
	fields = func(d *declared, seen map[string]bool) int {
		n := d.own
		for _, p := range d.parts {
			if part := types[p]; structs[p] && !seen[p] && (d.embeds[p] || part.piece(p)) {
				seen[p] = true
				n += fields(part, seen)
			} else {
				n++
			}
		}
		return n
	}
	all := map[string]shape{}
	for name, d := range types {
		all[name] = shape{fields(d, map[string]bool{name: true}), d.methods}
	}
	return all
}

// count adds the fields of a struct to a type.
func count(to *declared, s *ast.StructType) {
	for _, f := range s.Fields.List {
		n := max(1, len(f.Names))
		switch typ := f.Type.(type) {
		case *ast.StructType: // without a name: its fields are those of the struct that has it
			for range n {
				count(to, typ)
			}
			continue
		case *ast.Ident:
			to.embeds[typ.Name] = to.embeds[typ.Name] || len(f.Names) == 0
			for range n {
				to.parts = append(to.parts, typ.Name)
			}
			continue
		case *ast.StarExpr, *ast.IndexExpr:
			if name := base(typ); len(f.Names) == 0 && name != "" {
				to.embeds[name] = true
				to.parts = append(to.parts, name)
				continue
			}
		}
		to.own += n
	}
}

// methodOf returns the type whose method a function is, by its receiver or its first
// parameter; "": of none.
func methodOf(f *ast.FuncDecl) string {
	if f.Recv != nil && len(f.Recv.List) == 1 {
		return base(f.Recv.List[0].Type)
	}
	if l := f.Type.Params.List; len(l) > 0 {
		if star, ok := l[0].Type.(*ast.StarExpr); ok {
			if id, ok := star.X.(*ast.Ident); ok {
				return id.Name
			}
		}
	}
	return ""
}

// base returns the name of a type of the same package, without pointer and parameters; "": it
// is of another package.
func base(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return base(x.X)
	case *ast.IndexExpr:
		return base(x.X)
	case *ast.IndexListExpr:
		return base(x.X)
	}
	return ""
}

// goFiles parses the Go files of each folder of a tree, but tests and generated files.
func goFiles(t *testing.T, tree string) map[string][]*ast.File {
	t.Helper()
	all := map[string][]*ast.File{}
	err := filepath.WalkDir(filepath.Join(root, tree), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		all[folder] = append(all[folder], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTypesAreSmall holds the types of all packages to the bars. testdata/large.txt lists the
// exceptions with their fields and methods. The list only shrinks: a type that is smaller
// than listed changes its line, one that is below the bars loses it.
func TestTypesAreSmall(t *testing.T) {
	above := map[string]shape{}
	for _, tree := range counted {
		for folder, files := range goFiles(t, tree) {
			for name, s := range shapes(files) {
				if name = folder + "." + name; s.above() && !slices.Contains(exempt, name) {
					above[name] = s
				}
			}
		}
	}
	text, err := os.ReadFile("testdata/large.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]shape{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name string
		var s shape
		if _, err := fmt.Sscanf(line, "%s %d %d\n", &name, &s.fields, &s.methods); err != nil {
			t.Fatalf("testdata/large.txt: %q: TYPE FIELDS METHODS: %v", line, err)
		}
		listed[name] = s
	}
	for _, name := range slices.Sorted(maps.Keys(above)) {
		is, was := above[name], listed[name]
		switch {
		case was == shape{}:
			t.Errorf("%s has %d fields and %d methods, embedded structs and functions that take it first included: at most %d fields with %d methods or more, and at most %d methods, are allowed", name, is.fields, is.methods, mostFields, fewMethods, mostMethods)
		case is != was:
			t.Errorf("%s has %d fields and %d methods, testdata/large.txt has %d and %d: the list only shrinks", name, is.fields, is.methods, was.fields, was.methods)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if above[name] == (shape{}) {
			t.Errorf("%s is below the bars now, or gone: remove its line from testdata/large.txt", name)
		}
	}
}

func TestShapesCountPartsByTheirFields(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p
type whole struct {
	a, b int
	embedded
	*pointed
	piece piece
	apart apart
	shared shared
	Config Config
	anonymous struct{ i, j int }
	of other.Type
	other.Embedded
}
type embedded struct { c, d int; deeper }
type deeper struct { e int }
type pointed struct { f, g int }
type piece struct { h, i, j int }
type apart struct { k, l int }
type shared struct { m, n int }
type second struct { s shared }
type Config struct { O, P int }
func (a *apart) step() {}
func (w *whole) method() {}
func asMethod(w *whole, n int) {}
func other(n int, w *whole) {}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := shapes([]*ast.File{file})
	// a b, c d e, f g, h i j of the piece, apart, shared, Config, i j, of, Embedded
	if want := (shape{2 + 3 + 2 + 3 + 1 + 1 + 1 + 2 + 1 + 1, 2}); all["whole"] != want {
		t.Errorf("whole: %+v, want %+v", all["whole"], want)
	}
	if want := (shape{2, 1}); all["apart"] != want {
		t.Errorf("apart: %+v, want %+v", all["apart"], want)
	}
	for s, want := range map[shape]bool{{20, 35}: false, {21, 7}: false, {21, 8}: true, {0, 36}: true} {
		if s.above() != want {
			t.Errorf("%+v above: %v", s, !want)
		}
	}
}
