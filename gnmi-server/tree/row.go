// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"strings"

	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

// Expand returns the leaves of a row, sorted by name: nil, if paths cannot name the row,
// or (in style YANG) its key lacks the form of its type.
func Expand(s paths.Style, t *paths.Table, key string, fields map[string]string) []encoding.Leaf {
	keys, ok := t.Split(key)
	if !ok || !t.Nameable(s, key) {
		return nil
	}
	var leaves []encoding.Leaf
	for _, name := range t.Leaves {
		l := encoding.Leaf{Table: t, Key: key, Name: name}
		if at := slices.Index(t.Keys, name); at >= 0 {
			if s == paths.YANG {
				if l.Text = keys[at]; !l.Valid() {
					return nil
				}
				leaves = append(leaves, l)
			}
			continue
		}
		text, there := fields[t.Column(name)]
		l.Text = text
		switch {
		case s == paths.SonicDB:
			// what protobuf carries
			l.Text = strings.ToValidUTF8(text, "\uFFFD")
		case there && (!l.Valid() || text == "" && t.Entry(name).IsLeafList()):
			there = false
		case !there && len(t.Entry(name).Default) > 0:
			l.Text, there = strings.Join(t.Entry(name).Default, ","), true
		}
		if there {
			leaves = append(leaves, l)
		}
	}
	if s == paths.SonicDB && len(fields) == 0 {
		leaves = append(leaves, encoding.Leaf{Table: t, Key: key, Name: encoding.Null, Text: encoding.Null})
	}
	return leaves
}

// always reports whether a table has its row by defaults, even if the database lacks it: each
// table of one row of the configuration, and the state of the daemon.
func always(t *paths.Table) bool {
	return len(t.Keys) == 0 && (t.Config || slices.ContainsFunc(t.Leaves, func(leaf string) bool { return len(t.Entry(leaf).Default) > 0 }))
}
