// SPDX-License-Identifier: Apache-2.0

// Command pages writes the tables of fields into the pages of docs/configuration: the
// model's description of each field of CONFIG_DB. It runs in yang/model, by `go
// generate`. Every table of the model must be on exactly one page.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
)

// module is the model whose tables have pages.
const module = "sonic-sluice"

// folders have the model and its imports.
var folders = []string{"..", "../standins", "internal/generate"}

// generated matches the output of this program for a table, between two comments.
var generated = regexp.MustCompile(`(?s)(<!-- make generate writes the fields of (\w+) from the model -->\n).*?(<!-- end of (\w+) -->)`)

// main writes the pages of the configuration.
func main() {
	log.SetFlags(0)
	if err := run("../../docs/configuration"); err != nil {
		log.Fatalf("generate the pages of docs/configuration: %v", err)
	}
}

// run writes the tables of fields into all pages of the folder. A table without a page,
// or on two, is an error.
func run(folder string) error {
	models := yang.NewModules()
	models.AddPath(folders...)
	root, errs := models.GetModule(module)
	if errs != nil {
		return errors.Join(errs...)
	}
	tables := root.Dir[module].Dir
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return err
	}
	seen := make(map[string]string)
	for _, page := range pages {
		old, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		var errs []error
		text := generated.ReplaceAllStringFunc(string(old), func(whole string) string {
			m := generated.FindStringSubmatch(whole)
			begin, name, end := m[1], m[2], m[3]
			switch {
			case name != m[4]:
				errs = append(errs, fmt.Errorf("%s: the fields of %s end as those of %s", page, name, m[4]))
			case tables[name] == nil:
				errs = append(errs, fmt.Errorf("%s: the model has no table %s", page, name))
			case seen[name] != "":
				errs = append(errs, fmt.Errorf("%s: %s has the table %s, too", page, seen[name], name))
			default:
				seen[name] = page
				return begin + describe(tables[name]) + end
			}
			return whole
		})
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if text != string(old) {
			if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	for name := range tables {
		if seen[name] == "" {
			return fmt.Errorf("no page has the table %s", name)
		}
	}
	return nil
}

// describe returns the page's text of a table: its fields, and the rules of its rows.
func describe(table *yang.Entry) string {
	var b strings.Builder
	row := table.Dir["global"]
	if row == nil {
		row = table.Dir[table.Name+"_LIST"]
	}
	keys := strings.Fields(row.Key)
	fmt.Fprintf(&b, "\n%s\n\n| field | values | default | meaning |\n|---|---|---|---|\n", sentence(table.Description))
	for _, e := range inOrder(row) {
		name := "`" + e.Name + "`"
		if slices.Contains(keys, e.Name) {
			name += " (key)"
		}
		fallback := ""
		if len(e.Default) > 0 {
			fallback = "`" + strings.Join(e.Default, ",") + "`"
		}
		if e.Mandatory == yang.TSTrue {
			fallback = "required"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, values(e), fallback, meaning(e))
	}
	if rules := rulesOf(row); len(rules) > 0 {
		b.WriteString("\nRules:\n\n")
		for _, r := range rules {
			fmt.Fprintf(&b, "- %s\n", r)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// inOrder returns the fields of a row as the model has them.
func inOrder(row *yang.Entry) []*yang.Entry {
	var leaves []*yang.Entry
	for _, e := range row.Dir {
		leaves = append(leaves, e)
	}
	line := func(e *yang.Entry) int {
		var n int
		at := strings.Split(e.Node.Statement().Location(), ":")
		_, _ = fmt.Sscan(at[1], &n) // FILE:LINE:COLUMN
		return n
	}
	slices.SortFunc(leaves, func(a, b *yang.Entry) int { return line(a) - line(b) })
	return leaves
}

// values returns the values that a field may hold, as text.
func values(e *yang.Entry) string {
	text := typeText(e.Type)
	if e.Type.Kind == yang.Yenum { // in the order of the model
		var names []string
		for _, s := range enumsOf(e) {
			names = append(names, "`"+s.Argument+"`")
		}
		text = strings.Join(names, ", ")
	}
	if units := append(below(e.Node.Statement(), "units"), below(typedefOf(e), "units")...); len(units) > 0 {
		text += " " + units[0].Argument
	}
	if e.ListAttr == nil {
		return text
	}
	if n := e.ListAttr.MaxElements; n != ^uint64(0) {
		return fmt.Sprintf("up to %d, separated by commas: %s", n, text)
	}
	return "separated by commas: " + text
}

// typeText returns the values of a type in Markdown.
func typeText(t *yang.YangType) string {
	switch t.Kind {
	case yang.Ybool:
		return "`true`, `false`"
	case yang.Yleafref:
		parts := strings.Split(t.Path, "/")
		return "key of a row of " + strings.TrimSuffix(parts[len(parts)-2][strings.LastIndex(parts[len(parts)-2], ":")+1:], "_LIST")
	case yang.Yunion:
		if strings.HasPrefix(t.Name, "inet:") || strings.HasPrefix(t.Name, "ip-") {
			break
		}
		var parts []string
		for _, u := range t.Type {
			parts = append(parts, typeText(u))
		}
		return strings.Join(parts, ", or ")
	case yang.Ystring:
		if len(t.Length) > 0 && t.Name == "string" {
			return t.Length.String() + " characters"
		}
	case yang.Yuint8, yang.Yuint16, yang.Yuint32, yang.Yuint64:
		return strings.ReplaceAll(t.Range.String(), "|", " or ")
	}
	name := t.Name[strings.LastIndex(t.Name, ":")+1:]
	name = strings.TrimSuffix(name, "-no-zone")
	for _, family := range []struct{ from, to string }{{"ipv4-", "IPv4 "}, {"ipv6-", "IPv6 "}, {"ip-", "IP "}} {
		name = strings.Replace(name, family.from, family.to, 1)
	}
	return strings.ReplaceAll(name, "-", " ")
}

// meaning is the description of a field, or of its type, and of its values.
func meaning(e *yang.Entry) string {
	text := sentence(e.Description)
	if described := below(typedefOf(e), "description"); text == "" && len(described) > 0 {
		text = sentence(described[0].Argument)
	}
	for _, value := range enumsOf(e) {
		for _, d := range below(value, "description") {
			text += fmt.Sprintf(" `%s`: %s", value.Argument, lower(sentence(d.Argument)))
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "|", `\|`)
}

// typedefOf returns the statement that defines the type of a leaf: the typedef of the
// model, else the leaf's own.
func typedefOf(e *yang.Entry) *yang.Statement {
	own := &yang.Statement{}
	for _, s := range below(e.Node.Statement(), "type") {
		own = s
	}
	for _, s := range below(yang.RootNode(e.Node).Statement(), "typedef") {
		if s.Argument == own.Argument {
			return s
		}
	}
	return own
}

// enumsOf returns the values of an enumeration, in the order of the model.
func enumsOf(e *yang.Entry) []*yang.Statement {
	s := typedefOf(e)
	for _, inner := range below(s, "type") {
		s = inner
	}
	return below(s, "enum")
}

// below returns the statements of a keyword right below a statement.
func below(s *yang.Statement, keyword string) []*yang.Statement {
	var found []*yang.Statement
	for _, sub := range s.SubStatements() {
		if sub.Keyword == keyword {
			found = append(found, sub)
		}
	}
	return found
}

// rulesOf returns the messages of the must statements of a row and its fields.
func rulesOf(row *yang.Entry) []string {
	var rules []string
	var walk func(s *yang.Statement)
	walk = func(s *yang.Statement) {
		for _, sub := range s.SubStatements() {
			if sub.Keyword != "must" {
				walk(sub)
				continue
			}
			for _, m := range below(sub, "error-message") {
				rules = append(rules, sentence(m.Argument))
			}
		}
	}
	walk(row.Node.Statement())
	return rules
}

// sentence puts a description on one line.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "-") {
		text += "."
	}
	return text
}

// lower begins a sentence small, unless its first word is a name.
func lower(text string) string {
	if len(text) > 1 && (text[1] == ' ' || text[1] >= 'a' && text[1] <= 'z') {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}
