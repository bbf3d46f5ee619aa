// SPDX-License-Identifier: Apache-2.0

package rows

import "strings"

// place is a leaf of a table that has one row.
type place struct{ table, leaf string }

// clashes are leaves of different tables that must have different values: the must
// statements that look at another table.
var clashes = map[place]place{
	{"SLUICE_PPFC", "icmpv6_type"}: {"SLUICE_PFCM", "icmpv6_type"},
	{"SLUICE_PFCM", "icmpv6_type"}: {"SLUICE_PPFC", "icmpv6_type"},
}

// Clash reports whether a field of r and one of the row of another table have the same
// value and must not. row returns the row of a table, or an empty one with its defaults
// for a missing row; false excludes a table from the comparison. Both rows must be ones
// that [Decode] accepts.
func (r Row) Clash(row func(table string) (Row, bool)) *Error {
	for at, other := range clashes {
		if at.table != r.Table {
			continue
		}
		theirs, look := row(other.table)
		if value := r.value(at.leaf); look && value == theirs.value(other.leaf) {
			return r.wrong(at.leaf, value, "must not be %s of %s: nothing else tells the messages apart", other.leaf, theirs.Name())
		}
	}
	return nil
}

// value is a leaf's value, or its default.
func (r Row) value(leaf string) string {
	if v, ok := r.Fields[leaf]; ok {
		return v
	}
	return strings.Join(byName()[r.Table].entry.Dir[leaf].Default, ",")
}
