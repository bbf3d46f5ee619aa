// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"sort"
	"strings"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// content is CONFIG_DB by TABLE|KEY, a row's fields as one text: two contents are equal if the
// rows are.
type content map[string]string

// flat returns tables as CONFIG_DB holds them.
func (t tables) flat() content {
	all := content{}
	for _, r := range t.rows() {
		all[r.Table+"|"+r.Key] = text(r.Fields)
	}
	return all
}

// rows returns the rows of tables as CONFIG_DB holds them: lists have an @ after their names,
// and a row without fields has NULL.
func (t tables) rows() (all []rows.Row) {
	for name, keys := range t {
		for key, fields := range keys {
			r := rows.Row{Table: name, Key: key, Fields: map[string]string{}}
			for field, value := range fields {
				if list, ok := value.([]string); ok {
					r.Fields[field+"@"] = strings.Join(list, ",")
					continue
				}
				r.Fields[field] = fmt.Sprint(value)
			}
			all = append(all, r)
		}
	}
	return all
}

// text returns fields as one text. The field of a row without fields is left out.
func text(fields map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "NULL" {
			all = append(all, name+"="+fields[name])
		}
	}
	return strings.Join(all, " ")
}

// ours returns the rows of Sluice.
func (c content) ours() content { return c.of("SLUICE") }

// of returns the rows of tables whose names begin with a prefix.
func (c content) of(prefix string) content {
	some := content{}
	for name, fields := range c {
		if strings.HasPrefix(name, prefix) {
			some[name] = fields
		}
	}
	return some
}

// String has a line for each row, sorted.
func (c content) String() string {
	var lines []string
	for name, fields := range c {
		lines = append(lines, strings.TrimSpace(name+" "+fields))
	}
	sort.Strings(lines)
	return fmt.Sprintf("%d rows %s", len(lines), strings.Join(lines, "; "))
}

// minus returns the rows that differ, with + for those of c and - for those of other: "" if all
// are equal.
func (c content) minus(other content) string {
	var all []string
	for name, fields := range c {
		if was, ok := other[name]; !ok || was != fields {
			all = append(all, "+"+strings.TrimSpace(name+" "+fields))
		}
	}
	for name, fields := range other {
		if is, ok := c[name]; !ok || is != fields {
			all = append(all, "-"+strings.TrimSpace(name+" "+fields))
		}
	}
	sort.Strings(all)
	return strings.Join(all, "; ")
}

// contents reads CONFIG_DB.
func (m *machine) contents(ctx context.Context) (content, error) {
	all, err := m.config.Read(ctx, "*")
	if err != nil {
		return nil, err
	}
	c := content{}
	for _, r := range all {
		c[r.Table+"|"+r.Key] = text(r.Fields)
	}
	return c, nil
}

// same judges that CONFIG_DB has exactly some rows.
func (m *machine) same(ctx context.Context, check string, want content) error {
	is, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.equal(check, want, is)
	return nil
}

// sameOurs judges that CONFIG_DB has exactly those rows of Sluice.
func (m *machine) sameOurs(ctx context.Context, check string, want content) error {
	is, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.equal(check, want.ours(), is.ours())
	return nil
}

// equal judges that the rows are those that are wanted.
func (m *machine) equal(check string, want, is content) {
	got := is.minus(want)
	if got == "" {
		got = fmt.Sprintf("%d rows as given", len(want))
	}
	m.judge(check, fmt.Sprintf("%d rows as given", len(want)), got)
}

// begin makes CONFIG_DB hold exactly these tables.
func (m *machine) begin(ctx context.Context, t tables) error {
	was, err := m.config.Read(ctx, "*")
	if err != nil {
		return err
	}
	var changes []sonicdb.Change
	for _, r := range was {
		changes = append(changes, sonicdb.Change{Row: rows.Row{Table: r.Table, Key: r.Key}, Deleted: true})
	}
	if err := m.config.Write(ctx, changes...); err != nil {
		return err
	}
	changes = nil
	for _, r := range t.rows() {
		changes = append(changes, sonicdb.Change{Row: r})
	}
	if err := m.config.Write(ctx, changes...); err != nil {
		return err
	}
	return exec.CommandContext(ctx, "redis-cli", "-s", m.redis.Socket, "-n", "4", "SET", "CONFIG_DB_INITIALIZED", "1").Run()
}

// plusAll returns the rows of c and of others.
func (c content) plusAll(others ...content) content {
	all := maps.Clone(c)
	for _, other := range others {
		maps.Copy(all, other)
	}
	return all
}

// word returns the word of a text that begins with a prefix.
func word(text, prefix string) string {
	for w := range strings.FieldsSeq(text) {
		if strings.HasPrefix(w, prefix) {
			return w
		}
	}
	return ""
}
