// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/paths"
	"sluice/yang/rows"
)

// ErrEncoding means that a value has an unsupported encoding.
var ErrEncoding = errors.New("the encoding is not supported; values are JSON, JSON_IETF, PROTO or ASCII")

// Assignment is a leaf and its value; an empty Name is the row alone. An empty leaf-list
// has the text "".
type Assignment struct {
	Leaf
}

// Decode returns the assignments of a value to leaves below the node that a query names,
// which must be one node. Rows come before their leaves.
func Decode(q *paths.Query, v *gpb.TypedValue) ([]Assignment, error) {
	d := decoder{query: q}
	var text []byte
	switch v := v.GetValue().(type) {
	case nil:
		return nil, errors.New("the value is missing; to remove a node, delete it")
	case *gpb.TypedValue_JsonVal:
		text = v.JsonVal
	case *gpb.TypedValue_JsonIetfVal:
		text, d.ietf = v.JsonIetfVal, true
	default:
		return d.scalar(v)
	}
	from := json.NewDecoder(bytes.NewReader(text))
	// A float64 would round numbers above 2^53.
	from.UseNumber()
	var tree any
	if err := from.Decode(&tree); err != nil {
		return nil, fmt.Errorf("the value is not valid JSON: %w", err)
	}
	// A second value after the first is an error, since Decode stops behind one.
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the value is not valid JSON: something follows it")
	}
	var err error
	if q.Every {
		err = d.list(q.Parts[0].Table, tree)
	} else {
		err = d.node(q.Level, q.Parts, tree)
	}
	return d.out, err
}

// decoder collects the assignments of one value; ietf is the encoding JSON_IETF (RFC
// 7951).
type decoder struct {
	query *paths.Query
	ietf  bool
	out   []Assignment
}

// node takes the value of a node, of which the parts are below.
func (d *decoder) node(level int, parts []paths.Part, tree any) error {
	if level == paths.AtLeaf {
		key, _ := parts[0].Key()
		return d.leaf(parts[0].Table, key, parts[0].Leaves[0], tree)
	}
	if level == paths.AtRow {
		key, _ := parts[0].Key()
		return d.row(parts[0].Table, key, tree)
	}
	members, err := object(tree)
	if err != nil {
		return err
	}
	for _, name := range members.names {
		below, value := name, members.of[name]
		// RFC 7951 section 4: the top node has the name of its module before its own, and others may.
		if d.query.Style == paths.YANG {
			below = unqualified(parts, name)
		}
		if err := d.member(level, parts, below, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// member takes the value of a member of the node at a level.
func (d *decoder) member(level int, parts []paths.Part, name string, value any) error {
	sonic := d.query.Style == paths.SonicDB
	switch level {
	case paths.Root:
		of := slices.DeleteFunc(slices.Clone(parts), func(p paths.Part) bool {
			return p.Table.Module != name && !sonic || p.Table.Database != name && sonic
		})
		if len(of) == 0 {
			return errors.New("no such node here")
		}
		if !sonic {
			return d.node(level+1, of, value)
		}
		namespaces, err := object(value)
		if err != nil {
			return err
		}
		for _, n := range namespaces.names {
			if n != paths.Localhost {
				return fmt.Errorf("%s: the namespace must be %s", n, paths.Localhost)
			}
			if err := d.node(level+1, of, namespaces.of[n]); err != nil {
				return fmt.Errorf("%s: %w", n, err)
			}
		}
		return nil
	case paths.AtTop:
		i := slices.IndexFunc(parts, func(p paths.Part) bool { return p.Table.Name == name })
		if i < 0 {
			return errors.New("no such table here")
		}
		return d.node(level+1, parts[i:i+1], value)
	}
	t := parts[0].Table
	switch {
	case sonic:
		if _, ok := t.Split(name); !ok {
			return fmt.Errorf("the key must be %s", keyText(t))
		}
		return d.row(t, name, value)
	case name != t.Row:
		return fmt.Errorf("no such node here; there is: %s", t.Row)
	case len(t.Keys) == 0:
		return d.row(t, t.Row, value)
	}
	return d.list(t, value)
}

// keyText returns the names of a table's keys for errors.
func keyText(t *paths.Table) string {
	if len(t.Keys) == 0 {
		return t.Row
	}
	return strings.Join(t.Keys, paths.KeySeparator)
}

// list takes the value of a list as a whole.
func (d *decoder) list(t *paths.Table, value any) error {
	if d.query.Style == paths.SonicDB {
		return errors.New("the key of the row is missing in the path")
	}
	entries, ok := value.([]any)
	if !ok {
		return errors.New("the value of a list must be an array of its entries")
	}
	for i, e := range entries {
		members, err := object(e)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		values := make([]string, len(t.Keys))
		for j, k := range t.Keys {
			v, ok := members.find(t, k)
			if !ok {
				return fmt.Errorf("entry %d: key %s is missing", i, k)
			}
			if values[j], err = d.text(t, k, v); err != nil {
				return fmt.Errorf("entry %d: %s: %w", i, k, err)
			}
		}
		if err := d.row(t, strings.Join(values, paths.KeySeparator), e); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return nil
}

// row takes the value of a row.
func (d *decoder) row(t *paths.Table, key string, value any) error {
	members, err := object(value)
	if err != nil {
		return err
	}
	if !t.Nameable(d.query.Style, key) {
		return fmt.Errorf("no path can name a row with the key %q", key)
	}
	key = t.Canonical(key)
	// A row without fields is created, too: SONiC has it as one with the field NULL.
	if len(t.Keys) > 0 || d.query.Style == paths.SonicDB {
		d.out = append(d.out, Assignment{Leaf{Table: t, Key: key}})
	}
	for _, name := range members.names {
		leaf := strings.TrimPrefix(name, t.Module+":")
		if d.query.Style == paths.SonicDB {
			leaf = strings.TrimSuffix(name, "@")
			if name == Null {
				continue
			}
		}
		if t.Entry(leaf) == nil {
			return fmt.Errorf("%s: no such leaf; there are: %s", name, strings.Join(t.Leaves, ", "))
		}
		if err := d.leaf(t, key, leaf, members.of[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// leaf records a leaf by its JSON value.
func (d *decoder) leaf(t *paths.Table, key, leaf string, value any) error {
	text, err := d.text(t, leaf, value)
	if err != nil {
		return err
	}
	return d.assign(t, key, leaf, text)
}

// assign records a leaf. Leaves of the key must equal the key (gNMI specification section
// 3.4.5).
func (d *decoder) assign(t *paths.Table, key, leaf, text string) error {
	if at := slices.Index(t.Keys, leaf); at >= 0 {
		if d.query.Style == paths.SonicDB {
			return errors.New("is in the key, not a field")
		}
		if values, ok := t.Split(key); !ok || values[at] != rows.Canonical(t.Entry(leaf).Type, text) {
			return fmt.Errorf("%q contradicts the key, which is %q", text, key)
		}
		d.out = append(d.out, Assignment{Leaf{Table: t, Key: key}})
		return nil
	}
	d.out = append(d.out, Assignment{Leaf{Table: t, Key: key, Name: leaf, Text: text}})
	return nil
}

// text returns the text of a leaf's value in JSON.
func (d *decoder) text(t *paths.Table, leaf string, value any) (string, error) {
	e := t.Entry(leaf)
	if !e.IsLeafList() {
		return d.scalarText(e.Type.Kind, value)
	}
	if s, ok := value.(string); ok && d.query.Style == paths.SonicDB {
		return s, nil // as the database has it
	}
	list, ok := value.([]any)
	if !ok {
		return "", errors.New("must be an array")
	}
	parts := make([]string, len(list))
	for i, v := range list {
		var err error
		if parts[i], err = d.scalarText(e.Type.Kind, v); err != nil {
			return "", err
		}
	}
	return join(parts)
}

// join makes one text of the values of a leaf-list.
func join(parts []string) (string, error) {
	for _, p := range parts {
		if p == "" || strings.Contains(p, ",") {
			return "", fmt.Errorf("%q cannot be in a list: the database separates values by commas", p)
		}
	}
	return strings.Join(parts, ","), nil
}

// scalar takes a value other than JSON: of one leaf.
func (d *decoder) scalar(v any) ([]Assignment, error) {
	text, list, err := protoText(v)
	if err != nil {
		return nil, err
	}
	if d.query.Level != paths.AtLeaf {
		return nil, fmt.Errorf("the value of %s, which is not a leaf, must be JSON or JSON_IETF", d.query)
	}
	p := d.query.Parts[0]
	_, ascii := v.(*gpb.TypedValue_AsciiVal)
	isList := p.Table.Entry(p.Leaves[0]).IsLeafList()
	// Paths of SONiC's databases have texts for lists, as Redis has them.
	if isList != list && !ascii && d.query.Style == paths.YANG {
		return nil, errors.New("a leaf-list has leaflist_val, and no other leaf has")
	}
	if d.query.Style == paths.YANG && !ascii && !isList {
		if err := fits(p.Table.Entry(p.Leaves[0]).Type.Kind, v); err != nil {
			return nil, err
		}
	}
	key, _ := p.Key()
	if err := d.assign(p.Table, key, p.Leaves[0], text); err != nil {
		return nil, err
	}
	return d.out, nil
}

// number returns a float as YANG's decimal64 has it: with a point and at least one digit
// after it.
func number(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0" // as RFC 7950 section 9.3.2 writes decimals
	}
	return s
}
