// SPDX-License-Identifier: Apache-2.0

// Command generate writes the table of fields into the plugin of `config`: what
// the model says of the fields that the daemon acts on; and the names of counters into
// the plugin of `show`. It runs in sonic-container, by `go generate`.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
	"sluice/yang/rows"
)

const (
	plugin = "cli/config/plugins/sluice.py"
	module = "sonic-sluice"

	showPlugin  = "cli/show/plugins/sluice.py"
	stateModule = "sonic-sluice-state"
)

// folders have the model, and what it imports.
var folders = []string{"../yang", "../yang/standins", "../yang/model/internal/generate"}

// What is generated is between these lines; %s is the module.
const (
	begin = "# make generate writes this from yang/%s.yang.\n"
	end   = "# End of what make generate writes.\n"
)

// counted are the tables whose counters the plugin of show knows by name.
var counted = []string{"SLUICE_STATS", "SLUICE_IPFIX_STATS"}

// tables are those that get a command: what the daemon acts on. A field that it
// does nothing with is left out, so that no command pretends.
var tables = []struct {
	name, command string
	idle          []string
}{
	{"SLUICE", "global", []string{"classification"}},
	{"SLUICE_PORT", "port", nil},
	{"SLUICE_FLOW_LABEL", "flow-label", nil},
	{"SLUICE_PLACEMENT", "placement", nil},
	{"SLUICE_THRESHOLD", "threshold", nil},
	{"SLUICE_PFCM", "pfcm", []string{"allow_loss"}},
	{"SLUICE_PPFC", "ppfc", nil},
	{"SLUICE_PPFC_GATEWAY", "ppfc-gateway", nil},
	{"SLUICE_PPFC_PEER", "ppfc-peer", nil},
	{"SLUICE_RATE_ADVICE", "rate-advice", nil},
	{"SLUICE_RATE_ADVICE_HOST", "rate-advice-host", nil},
	{"SLUICE_RATE_POLICY", "rate-policy", nil},
	{"SLUICE_IPFIX", "ipfix", nil},
	{"SLUICE_IPFIX_COLLECTOR", "ipfix-collector", nil},
}

// table is one table, as the plugin reads it.
type table struct {
	Table   string   `json:"table"`
	Command string   `json:"command"`
	Help    string   `json:"help"`
	Only    string   `json:"only,omitempty"`  // key of the only row
	Key     *field   `json:"key,omitempty"`   // of many rows
	In      []string `json:"in,omitempty"`    // tables of which one must have the key
	Fields  []field  `json:"fields"`          // but the key
	Needs   []string `json:"needs,omitempty"` // fields that every row has
	Rules   []string `json:"rules,omitempty"` // messages of the row's must statements
}

// field is one leaf. It takes one of Values, a number of Min..Max, an address, a prefix, an
// endpoint, or a string of Min..Max characters that match Pattern; with Most, up
// to so many of them.
type field struct {
	Name    string      `json:"name"`
	Type    string      `json:"type"` // values, number, ip-address, ip-prefix, endpoint, string
	Help    string      `json:"help,omitempty"`
	Values  []string    `json:"values,omitempty"`
	Min     *uint64     `json:"min,omitempty"`
	Max     *uint64     `json:"max,omitempty"`
	Ranges  [][2]uint64 `json:"ranges,omitempty"` // of a number, where there are several
	Pattern string      `json:"pattern,omitempty"`
	Family  uint8       `json:"family,omitempty"` // version of IP of an address
	Most    uint64      `json:"most,omitempty"`
	Default string      `json:"default,omitempty"`
}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatalf("generate %s: %v", plugin, err)
	}
	if err := show(); err != nil {
		log.Fatalf("generate %s: %v", showPlugin, err)
	}
}

// show writes the names of counters, and of what else is counted, in the model's order.
func show() error {
	models := yang.NewModules()
	models.AddPath(folders...)
	root, errs := models.GetModule(stateModule)
	if errs != nil {
		return errors.Join(errs...)
	}
	var b bytes.Buffer
	names := map[string]map[string][]string{"COUNTERS": {}, "NUMBERS": {}}
	for _, name := range counted {
		container := root.Dir[stateModule].Dir[name]
		if container == nil {
			return fmt.Errorf("%s: the model has no such table", name)
		}
		var leaves []*yang.Leaf
		switch row := container.Node.(*yang.Container); {
		case len(row.List) == 1:
			leaves = row.List[0].Leaf
		case len(row.Container) == 1:
			leaves = row.Container[0].Leaf
		}
		for _, leaf := range leaves {
			switch leaf.Type.Name {
			case "counter":
				names["COUNTERS"][name] = append(names["COUNTERS"][name], leaf.Name)
			case "uint64", "uint32":
				names["NUMBERS"][name] = append(names["NUMBERS"][name], leaf.Name)
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "%s = {\n", kind)
		for _, name := range counted {
			fmt.Fprintf(&b, "    %q: [", name)
			for i, leaf := range names[kind][name] {
				if i%5 == 0 {
					b.WriteString("\n       ")
				}
				fmt.Fprintf(&b, " %q,", leaf)
			}
			b.WriteString("\n    ],\n")
		}
		b.WriteString("}\n")
	}
	return splice(showPlugin, stateModule, b.Bytes())
}

// splice puts text between the lines that mark it.
func splice(file, module string, text []byte) error {
	begin := []byte(fmt.Sprintf(begin, module))
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(old, begin)
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return fmt.Errorf("the lines %q and %q are not there", begin, end)
	}
	return os.WriteFile(file, slices.Concat(before, begin, text, []byte(end), after), 0o644)
}

func run() error {
	models := yang.NewModules()
	models.AddPath(folders...)
	root, errs := models.GetModule(module)
	if errs != nil {
		return errors.Join(errs...)
	}
	var all []table
	for _, t := range tables {
		container := root.Dir[module].Dir[t.name]
		if container == nil {
			return fmt.Errorf("%s: the model has no such table", t.name)
		}
		row := container.Dir[t.name+"_LIST"]
		if only := rows.Only(t.name); only != "" {
			row = container.Dir[only]
		}
		one, err := tableOf(row, t.name, t.idle)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		one.Command = t.command
		all = append(all, one)
	}
	text, err := python(all)
	if err != nil {
		return err
	}
	return splice(plugin, module, text)
}

// python writes the tables, a field a line. JSON of objects, lists, strings and
// numbers is Python, too.
func python(tables []table) ([]byte, error) {
	text, err := json.Marshal(tables)
	if err != nil {
		return nil, err
	}
	s := strings.NewReplacer(`{"table":`, "\n    {\"table\":", `{"name":`, "\n        {\"name\":", `"rules":`, "\n     \"rules\":").Replace(string(text))
	return []byte("TABLES = " + strings.TrimSuffix(s, "]") + "\n]\n"), nil
}

// tableOf reads a table off the schema of its row, without the idle fields.
func tableOf(row *yang.Entry, name string, idle []string) (table, error) {
	t := table{Table: name, Help: plain(row.Parent.Description), Only: rows.Only(name), Fields: []field{}}
	for _, leaf := range idle {
		if row.Dir[leaf] == nil {
			return t, fmt.Errorf("no field %s to leave out", leaf)
		}
	}
	for _, leaf := range slices.Sorted(maps.Keys(row.Dir)) {
		if slices.Contains(idle, leaf) {
			continue
		}
		f, err := fieldOf(row.Dir[leaf])
		if err != nil {
			return t, fmt.Errorf("%s: %w", leaf, err)
		}
		if row.Dir[leaf].Mandatory == yang.TSTrue {
			t.Needs = append(t.Needs, leaf)
		}
		if leaf != row.Key {
			t.Fields = append(t.Fields, f)
			continue
		}
		t.Key = &f
		for _, ref := range (rows.Row{Table: name, Key: "x"}).References() {
			t.In = append(t.In, ref.Tables...)
		}
	}
	for _, f := range t.Fields {
		for _, x := range row.Dir[f.Name].Extra["must"] {
			// The rows of other tables are the daemon's to judge.
			if must := x.(*yang.Must); !strings.Contains(must.Name, "SLUICE_") {
				t.Rules = append(t.Rules, must.ErrorMessage.Name)
			}
		}
	}
	for _, x := range row.Extra["must"] {
		must := x.(*yang.Must)
		// A rule about a field that has no command cannot be broken by a command.
		if slices.ContainsFunc(t.Fields, func(f field) bool { return strings.Contains(must.Name, f.Name) }) {
			t.Rules = append(t.Rules, must.ErrorMessage.Name)
		}
	}
	return t, nil
}

// nameMin and nameMax are the lengths of the model's row-name.
var nameMin, nameMax = uint64(1), uint64(64)

// families are the versions of IP that addresses of a type have; 0: both.
var families = map[string]uint8{"ipv4-address-no-zone": 4, "ipv6-address-no-zone": 6}

// manyMost is how many values of a leaf-list fit on a command line.
const manyMost = 100

func fieldOf(e *yang.Entry) (field, error) {
	f := field{Name: e.Name, Help: plain(e.Description), Default: strings.Join(e.Default, ",")}
	if e.IsLeafList() {
		f.Most = e.ListAttr.MaxElements
	}
	switch kind := e.Type.Kind; {
	case e.IsLeafList() && f.Most > manyMost:
		return f, errors.New("the plugin has no leaf-lists without an end yet")
	case kind == yang.Ybool:
		f.Type, f.Values = "values", []string{"true", "false"}
	case kind == yang.Yenum:
		f.Type, f.Values = "values", e.Type.Enum.Names()
		slices.SortFunc(f.Values, func(a, b string) int { return int(e.Type.Enum.Value(a) - e.Type.Enum.Value(b)) })
	case kind >= yang.Yuint8 && kind <= yang.Yuint64 && len(e.Type.Range) > 0:
		last := &e.Type.Range[len(e.Type.Range)-1]
		f.Type, f.Min, f.Max = "number", &e.Type.Range[0].Min.Value, &last.Max.Value
		if len(e.Type.Range) > 1 {
			for _, r := range e.Type.Range {
				f.Ranges = append(f.Ranges, [2]uint64{r.Min.Value, r.Max.Value})
			}
		}
	case e.Type.Name == "inet:ip-prefix", e.Type.Name == "ip-prefix":
		f.Type = "ip-prefix"
	case strings.HasSuffix(e.Type.Name, "-address-no-zone"):
		f.Type, f.Family = "ip-address", families[e.Type.Name]
	case e.Type.Name == "etcd-endpoint":
		f.Type, f.Pattern = "endpoint", strings.Join(e.Type.Pattern, "")
	case kind == yang.Ystring && len(e.Type.Length) == 1 && len(e.Type.Pattern) < 2:
		f.Type, f.Min, f.Max = "string", &e.Type.Length[0].Min.Value, &e.Type.Length[0].Max.Value
		f.Pattern = strings.Join(e.Type.Pattern, "")
	case kind == yang.Yunion: // of references: another table has it
		f.Type = "string"
	case kind == yang.Yleafref: // to a row that the operator named
		f.Type, f.Min, f.Max, f.Pattern = "string", &nameMin, &nameMax, `[A-Za-z0-9_.\-]+`
	default:
		return f, fmt.Errorf("the plugin has no type %s yet", e.Type.Name)
	}
	return f, nil
}

// plain is a description on one line.
func plain(s string) string { return strings.Join(strings.Fields(s), " ") }
