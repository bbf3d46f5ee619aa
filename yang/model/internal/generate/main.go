// SPDX-License-Identifier: Apache-2.0

// Command generate writes model.go, the Go structs of the models in yang/, with
// ygot as a library: its own program writes where it was built into the file.
// It runs in yang/model, by `go generate`.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/genutil"
	"github.com/openconfig/ygot/gogen"
	"github.com/openconfig/ygot/ygen"
)

// models are the modules that structs are made of. The two of SONiC's are
// stand-ins, without which a reference to a port would lead nowhere.
var models = []string{
	"../sonic-sluice.yang",
	"../sonic-sluice-state.yang",
	"../standins/sonic-port.yang",
	"../standins/sonic-portchannel.yang",
}

// main writes model.go from the YANG models.
func main() {
	log.SetFlags(0)
	code, err := generate()
	if err != nil {
		log.Fatalf("generate model.go: %v", err)
	}
	if err := os.WriteFile("model.go", code, 0o644); err != nil {
		log.Fatal(err)
	}
}

// generate returns the text of model.go: structs by ygot, and the schema in compressed
// form.
func generate() ([]byte, error) {
	parts, errs := gogen.New("yang/model/internal/generate",
		ygen.IROptions{
			ParseOptions: ygen.ParseOpts{ExcludeModules: []string{"ietf-inet-types"}},
			TransformationOptions: ygen.TransformationOpts{
				CompressBehaviour:                    genutil.Uncompressed,
				GenerateFakeRoot:                     true,
				FakeRootName:                         "device",
				ShortenEnumLeafNames:                 true,
				UseDefiningModuleForTypedefEnumNames: true,
				EnumerationsUseUnderscores:           true,
			},
		},
		gogen.GoOpts{
			PackageName:             "model",
			GenerateJSONSchema:      true,
			IncludeDescriptions:     true,
			GenerateSimpleUnions:    true,
			GeneratePopulateDefault: true,
		},
	).Generate(models, []string{"../standins", "internal/generate"})
	if errs != nil {
		return nil, errs
	}

	var b bytes.Buffer
	// ygot writes a package comment of its own; the package's is in doc.go.
	head, rest, _ := strings.Cut(parts.CommonHeader, "/*\n")
	_, rest, _ = strings.Cut(rest, "*/\n")
	b.WriteString("// SPDX-License-Identifier: Apache-2.0\n\n" + head + rest + parts.OneOffHeader)
	for _, s := range parts.Structs {
		for _, part := range []string{s.StructDef, s.ListKeys, s.Methods, s.Interfaces} {
			fmt.Fprintln(&b, part)
		}
	}
	for _, e := range parts.Enums {
		fmt.Fprintln(&b, e)
	}
	fmt.Fprintln(&b, parts.EnumMap)
	if err := writeSchema(&b, parts.JSONSchemaCode, parts.RawJSONSchema); err != nil {
		return nil, err
	}
	fmt.Fprintln(&b, parts.EnumTypeMap)
	if err := writeUnits(&b); err != nil {
		return nil, err
	}
	code, err := format.Source(b.Bytes())
	if err != nil {
		return nil, err
	}
	return lazy(uncalled.ReplaceAllString(string(code), ""))
}

// uncalled matches the methods of ygot for trees of lists. All callers check and fill single
// rows, by the schema: package rows.
var uncalled = regexp.MustCompile(`(?m)^(?://.*\n)*func \([^)]*\) (?:New\w+|ΛListKeyMap|ΛValidate|Validate|ΛBelongingModule|IsYANGGoKeyStruct)\((?s:.*?)^}\n+`)

// bytesOfSchema matches the octets of ygot's schema.
var bytesOfSchema = regexp.MustCompile(`(?s)(ySchema = \[\]byte\{\n).*?(\n\s*\})`)

// writeSchema writes ygot's code of the schema, less the indents of its JSON: they are four of five
// octets, and each program reads them to find the rest.
func writeSchema(b *bytes.Buffer, code string, text []byte) error {
	if !bytesOfSchema.MatchString(code) {
		return errors.New("ygot's code has no octets of a schema")
	}
	var compact, zipped, list bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return err
	}
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(compact.Bytes()); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	for line := range slices.Chunk(zipped.Bytes(), 16) {
		fmt.Fprintf(&list, "\t\t% #x,\n", line)
	}
	octets := strings.ReplaceAll(strings.TrimSuffix(list.String(), "\n"), " 0x", ", 0x")
	fmt.Fprintln(b, bytesOfSchema.ReplaceAllString(code, "${1}"+octets+"${2}"))
	return nil
}

// writeUnits writes the units of leaves, which ygot's schema leaves out.
func writeUnits(b *bytes.Buffer) error {
	ms := yang.NewModules()
	ms.AddPath("..", "../standins", "internal/generate")
	for _, file := range models[:2] {
		if err := ms.Read(file); err != nil {
			return err
		}
	}
	if errs := ms.Process(); errs != nil {
		return errors.Join(errs...)
	}
	all := map[string]string{}
	var walk func(table string, e *yang.Entry)
	walk = func(table string, e *yang.Entry) {
		if table == "" && strings.HasPrefix(e.Name, "SLUICE") {
			table = e.Name
		}
		switch n := e.Node.(type) {
		case *yang.Leaf:
			if n.Units != nil {
				all[table+"/"+e.Name] = n.Units.Name
			}
		case *yang.LeafList:
			if n.Units != nil {
				all[table+"/"+e.Name] = n.Units.Name
			}
		}
		for _, child := range e.Dir {
			walk(table, child)
		}
	}
	for _, file := range models[:2] {
		walk("", yang.ToEntry(ms.Modules[strings.TrimSuffix(filepath.Base(file), ".yang")]))
	}
	fmt.Fprintln(b, "// Units are those of leaves, by table and leaf: SLUICE_THRESHOLD/high_bytes.\nvar Units = map[string]string{")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "%q: %q,\n", name, all[name])
	}
	fmt.Fprintln(b, "}")
	return nil
}

// lazy makes SchemaTree a function, which unpacks the schema when it is first called: ygot's
// code does so at the start of each program, which takes as long as all the rest of a start.
func lazy(code string) ([]byte, error) {
	for _, change := range [][2]string{
		{"\tSchemaTree map[string]*yang.Entry\n", ""},
		{"\tvar err error\n\tinitΛEnumTypes()\n\tif SchemaTree, err = UnzipSchema(); err != nil {\n\t\tpanic(\"schema error: \" + err.Error())\n\t}\n", "\tinitΛEnumTypes()\n"},
		{"// Schema returns", schemaTree + "\n// Schema returns"},
		{"SchemaTree[", "SchemaTree()["},
		{"\t\"reflect\"\n", "\t\"reflect\"\n\t\"sync\"\n"},
	} {
		if !strings.Contains(code, change[0]) {
			return nil, fmt.Errorf("ygot's code has no %q", change[0])
		}
		code = strings.ReplaceAll(code, change[0], change[1])
	}
	return format.Source([]byte(code))
}

// schemaTree unpacks the schema at its first use: that takes a few ms, which most
// commands can save.
const schemaTree = `// SchemaTree returns the schema of each struct, by its name.
var SchemaTree = sync.OnceValue(func() map[string]*yang.Entry {
	tree, err := UnzipSchema()
	if err != nil {
		panic("schema error: " + err.Error())
	}
	return tree
})
`
