// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"bytes"
	"encoding/json"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/paths"
)

// Subtree returns the value of the node at a level, below which the leaves are:
// all of one node, valid, and those of one row together. The encoding is JSON or
// JSON_IETF. In JSON_IETF the names of the outermost members have the name of
// their module (RFC 7951 section 4).
func Subtree(s paths.Style, e gpb.Encoding, level int, leaves []Leaf) *gpb.TypedValue {
	b := builder{style: s, ietf: e == gpb.Encoding_JSON_IETF}
	var text bytes.Buffer
	into := json.NewEncoder(&text)
	into.SetEscapeHTML(false)
	if err := into.Encode(b.node(level, leaves, b.ietf && s == paths.YANG)); err != nil {
		panic("encoding: " + err.Error()) // maps of strings and valid JSON only
	}
	out := bytes.TrimRight(text.Bytes(), "\n")
	if b.ietf {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: out}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: out}}
}

// builder builds the JSON of a subtree in one style and encoding.
type builder struct {
	style paths.Style
	ietf  bool
}

// node returns the members of a node at a level; qualify asks for their module.
func (b builder) node(level int, leaves []Leaf, qualify bool) any {
	out := make(map[string]any)
	put := func(l Leaf, name string, value any) {
		if qualify {
			name = l.Table.Module + ":" + name
		}
		out[name] = value
	}
	switch level {
	case paths.AtRow:
		for _, l := range leaves {
			put(l, l.Name, json.RawMessage(l.json(b.style, b.ietf)))
		}
	case paths.AtTable:
		for of := range groups(leaves, func(l Leaf) string { return l.Key }) {
			first := of[0]
			switch {
			case b.style == paths.SonicDB:
				put(first, first.Key, b.node(level+1, of, false))
			case len(first.Table.Keys) == 0:
				put(first, first.Table.Row, b.node(level+1, of, false))
			default:
				name := first.Table.Row
				if qualify {
					name = first.Table.Module + ":" + name
				}
				list, _ := out[name].([]any)
				out[name] = append(list, b.node(level+1, of, false))
			}
		}
	case paths.AtTop:
		for of := range groups(leaves, func(l Leaf) string { return l.Table.Name }) {
			put(of[0], of[0].Table.Name, b.node(level+1, of, false))
		}
	case paths.Root:
		name := func(l Leaf) string { return l.Table.Module }
		if b.style == paths.SonicDB {
			name = func(l Leaf) string { return l.Table.Database }
		}
		for of := range groups(leaves, name) {
			below := b.node(level+1, of, false)
			if b.style == paths.SonicDB {
				below = map[string]any{paths.Localhost: below}
			}
			put(of[0], name(of[0]), below)
		}
	}
	return out
}

// groups yields the leaves of each name together, in the order of the names.
func groups(leaves []Leaf, name func(Leaf) string) func(yield func([]Leaf) bool) {
	return func(yield func([]Leaf) bool) {
		by := make(map[string][]Leaf)
		var names []string
		for _, l := range leaves {
			n := name(l)
			if by[n] == nil {
				names = append(names, n)
			}
			by[n] = append(by[n], l)
		}
		slices.Sort(names)
		for _, n := range names {
			if !yield(by[n]) {
				return
			}
		}
	}
}
