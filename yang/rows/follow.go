// SPDX-License-Identifier: Apache-2.0

package rows

import "maps"

// Follow returns the error that forbids rows to replace those before them, or nil: the
// first in a row that changed, or in one that was valid before. A row that was wrong
// before and is unchanged is ignored. there is as for [Validate].
func Follow(before, after []Row, there func(table, key string) bool) *Error {
	was := make(map[string]Row, len(before))
	for _, r := range before {
		was[r.Name()] = r
	}
	is := make(map[string]Row, len(after))
	for _, r := range after {
		is[r.Name()] = r
	}
	var wrongBefore map[string]bool // computed when needed
	for _, wrong := range Validate(after, there) {
		name := Row{Table: wrong.Table, Key: wrong.Key}.Name()
		old, ok := was[name]
		if !ok || !maps.Equal(old.Fields, is[name].Fields) {
			return wrong
		}
		if wrongBefore == nil {
			wrongBefore = make(map[string]bool)
			for _, e := range Validate(before, there) {
				wrongBefore[Row{Table: e.Table, Key: e.Key}.Name()] = true
			}
		}
		if !wrongBefore[name] {
			return wrong
		}
	}
	return nil
}
