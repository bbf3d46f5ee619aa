// Command generate writes the table of fields into the plugin of `config`: what
// the model says of the fields that the daemon acts on. It runs in
// sonic-container, by `go generate`.
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
)

// folders have the model, and what it imports.
var folders = []string{"../yang", "../yang/standins", "../yang/model/internal/generate"}

// The table stands between these lines.
const (
	begin = "# make generate writes this from yang/sonic-sluice.yang.\n"
	end   = "# End of what make generate writes.\n"
)

// tables are those that get a command: what the daemon acts on. A field that it
// does nothing with is left out, so that no command pretends.
var tables = []struct {
	name, command string
	idle          []string
}{
	{"SLUICE", "global", []string{
		"driver", "router_id", "router_id_v6", "classification", "stream_id_scope", "stream_id_seed", "etcd_endpoints",
	}},
	{"SLUICE_PORT", "port", []string{"threshold", "upstream_neighbor"}},
	{"SLUICE_FLOW_LABEL", "flow-label", nil},
}

// table is one table, as the plugin reads it.
type table struct {
	Table   string   `json:"table"`
	Command string   `json:"command"`
	Help    string   `json:"help"`
	Key     string   `json:"key,omitempty"`  // the leaf that is the key
	In      []string `json:"in,omitempty"`   // tables of which one must have the key
	Only    string   `json:"only,omitempty"` // key of the only row
	Fields  []field  `json:"fields"`
}

// field is one field: it takes one of Values, or a number of Min..Max.
type field struct {
	Name    string   `json:"name"`
	Help    string   `json:"help,omitempty"`
	Values  []string `json:"values,omitempty"`
	Min     *uint64  `json:"min,omitempty"`
	Max     *uint64  `json:"max,omitempty"`
	Default string   `json:"default,omitempty"`
}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatalf("generate %s: %v", plugin, err)
	}
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
	text, err := json.MarshalIndent(all, "", "    ")
	if err != nil {
		return err
	}
	old, err := os.ReadFile(plugin)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(old, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return fmt.Errorf("the lines %q and %q are not there", begin, end)
	}
	// JSON of objects, lists, strings and numbers is Python, too.
	table := slices.Concat(before, []byte(begin+"TABLES = "), text, []byte("\n"+end), after)
	return os.WriteFile(plugin, table, 0o644)
}

// tableOf reads a table off the schema of its row, without the idle fields.
func tableOf(row *yang.Entry, name string, idle []string) (table, error) {
	t := table{Table: name, Help: plain(row.Parent.Description), Only: rows.Only(name)}
	for _, leaf := range idle {
		if row.Dir[leaf] == nil {
			return t, fmt.Errorf("no field %s to leave out", leaf)
		}
	}
	for _, leaf := range slices.Sorted(maps.Keys(row.Dir)) {
		e := row.Dir[leaf]
		switch {
		case leaf == row.Key:
			t.Key = leaf
			for _, ref := range (rows.Row{Table: name, Key: "x"}).References() {
				t.In = append(t.In, ref.Tables...)
			}
		case !slices.Contains(idle, leaf):
			f, err := fieldOf(e)
			if err != nil {
				return t, fmt.Errorf("%s: %w", leaf, err)
			}
			t.Fields = append(t.Fields, f)
		}
	}
	return t, unconditional(row, t.Fields)
}

func fieldOf(e *yang.Entry) (field, error) {
	f := field{Name: e.Name, Help: plain(e.Description), Default: strings.Join(e.Default, ",")}
	switch kind := e.Type.Kind; {
	case e.IsLeafList():
		return f, fmt.Errorf("the plugin has no leaf-lists yet")
	case kind == yang.Ybool:
		f.Values = []string{"true", "false"}
	case kind == yang.Yenum:
		f.Values = e.Type.Enum.Names()
		slices.SortFunc(f.Values, func(a, b string) int { return int(e.Type.Enum.Value(a) - e.Type.Enum.Value(b)) })
	case kind >= yang.Yuint8 && kind <= yang.Yuint64 && len(e.Type.Range) == 1:
		f.Min, f.Max = &e.Type.Range[0].Min.Value, &e.Type.Range[0].Max.Value
	default:
		return f, fmt.Errorf("the plugin has no type %s yet", e.Type.Name)
	}
	return f, unconditional(e, nil)
}

// unconditional returns an error where a must of e, which the plugin cannot
// judge, concerns one of the fields; without fields, where e has any must.
func unconditional(e *yang.Entry, fields []field) error {
	for _, x := range e.Extra["must"] {
		text := x.(*yang.Must).Name
		about := func(f field) bool { return strings.Contains(text, f.Name) }
		if fields == nil || slices.ContainsFunc(fields, about) {
			return fmt.Errorf("the plugin cannot judge must %q yet", text)
		}
	}
	return nil
}

// plain is a description on one line.
func plain(s string) string { return strings.Join(strings.Fields(s), " ") }
