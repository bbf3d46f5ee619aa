// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"slices"
	"strings"
)

// bad has the rows that are out of force by themselves: those that are invalid and have no good
// version, and those of unknown tables. They affect no other row, so that a change of another
// one costs nothing for them, however many they are.
type bad struct {
	rows    map[name]Rejection
	sorted  []badRow            // rows, before what was touched
	list    []Rejection         // of sorted; snapshots share it
	touched map[name]*Rejection // rejections as they were; nil: there was none
}

// badRow is a row with its rejection.
type badRow struct {
	name
	Rejection
}

// put rejects a row.
func (b *bad) put(n name, r Rejection) {
	b.touch(n)
	b.rows[n] = r
}

// delete takes a row that is gone, or is no longer bad.
func (b *bad) delete(n name) {
	if _, there := b.rows[n]; there {
		b.touch(n)
		delete(b.rows, n)
	}
}

// touch keeps the rejection that a row has before it changes.
func (b *bad) touch(n name) {
	if _, seen := b.touched[n]; seen {
		return
	}
	b.touched[n] = nil
	if was, there := b.rows[n]; there {
		b.touched[n] = &was
	}
}

// settle brings the sorted list up to date. It returns the rows that were touched, with their
// rejections before.
func (b *bad) settle() (touched map[name]*Rejection) {
	touched, b.touched = b.touched, map[name]*Rejection{}
	if len(touched) == 0 {
		return touched
	}
	var fresh []badRow
	for n := range touched {
		if r, there := b.rows[n]; there {
			fresh = append(fresh, badRow{n, r})
		}
	}
	order := func(x, y badRow) int { return ByName(x.Rejection, y.Rejection) }
	slices.SortFunc(fresh, order)
	b.sorted = merged(slices.DeleteFunc(slices.Clone(b.sorted), func(r badRow) bool {
		_, changed := touched[r.name]
		return changed
	}), fresh, order)
	b.list = make([]Rejection, len(b.sorted))
	for i := range b.sorted {
		b.list[i] = b.sorted[i].Rejection
	}
	return touched
}

// merged merges sorted lists. One that has all is returned as it is.
func merged[T any](a, b []T, order func(T, T) int) []T {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	all := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if order(a[0], b[0]) <= 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// ByName compares rejections in the order of a snapshot: that of the names of their rows, TABLE|key.
func ByName(a, b Rejection) int {
	if a.Table != b.Table {
		return cmp.Or(strings.Compare(a.Table+"|", b.Table+"|"), strings.Compare(a.Key, b.Key))
	}
	return strings.Compare(a.Key, b.Key)
}
