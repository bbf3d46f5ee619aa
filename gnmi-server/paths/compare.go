// SPDX-License-Identifier: Apache-2.0

package paths

import "slices"

// Meets reports whether there may be a leaf that both queries mean. It may be true for a
// row that no database has: rows are not looked up.
func (q *Query) Meets(other *Query) bool {
	return slices.ContainsFunc(q.Parts, func(a Part) bool {
		return slices.ContainsFunc(other.Parts, func(b Part) bool {
			if a.Table != b.Table {
				return false
			}
			for i := range a.Keys {
				if a.Keys[i] != Any && b.Keys[i] != Any && a.Keys[i] != b.Keys[i] {
					return false
				}
			}
			return slices.ContainsFunc(a.Table.Leaves, func(leaf string) bool { return a.HasLeaf(leaf) && b.HasLeaf(leaf) })
		})
	})
}

// Covers reports whether the query means every leaf that other means. Each part of other
// has to lie in one part of q; two parts that cover it together count as no.
func (q *Query) Covers(other *Query) bool {
	return !slices.ContainsFunc(other.Parts, func(b Part) bool {
		return !slices.ContainsFunc(q.Parts, func(a Part) bool {
			if a.Table != b.Table {
				return false
			}
			for i := range a.Keys {
				if a.Keys[i] != Any && a.Keys[i] != b.Keys[i] {
					return false
				}
			}
			return !slices.ContainsFunc(a.Table.Leaves, func(leaf string) bool { return b.HasLeaf(leaf) && !a.HasLeaf(leaf) })
		})
	})
}
