// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// nodesOf returns the names of the nodes down to a row of t.
func nodesOf(s Style, t *Table) []string { return []string{top(s, t), t.Name, t.Row} }

// match returns how many elements lead along the nodes: all of them, if the path
// names one of the nodes. The row may have any name if anyRow is set.
func match(elems []*gpb.PathElem, nodes []string, anyRow bool) int {
	best := 0
	var walk func(i, j int)
	walk = func(i, j int) {
		if best = max(best, i); i == len(elems) {
			return
		}
		switch name := elems[i].Name; {
		case name == recursive:
			for k := j; k <= len(nodes); k++ {
				walk(i+1, k)
			}
		case j < len(nodes) && (name == Any || j == AtRow-1 && anyRow || name == nodes[j] || j == AtLeaf-1 && strings.TrimSuffix(name, "@") == nodes[j]):
			walk(i+1, j+1)
		}
	}
	walk(0, 0)
	return best
}

// unknown returns the error of a path whose first n elements are those of a model.
func (r *resolver) unknown(s Style, elems []*gpb.PathElem, n int) error {
	next := make(map[string]bool)
	for _, t := range Tables() {
		for _, leaf := range t.Leaves {
			nodes := append(nodesOf(s, t), leaf)
			if n < len(nodes) && match(elems[:n], nodes[:n], s == SonicDB && len(t.Keys) > 0) == n {
				next[nodes[n]] = true
			}
		}
	}
	e := r.wrong("nothing is below %s", name(elems, n-1))
	if len(next) > 0 {
		e = r.wrong("no %q here; there are: %s", elems[n].Name, strings.Join(slices.Sorted(maps.Keys(next)), ", "))
	}
	e.Unknown = true
	return e
}

// name returns the name of element i for an error.
func name(elems []*gpb.PathElem, i int) string {
	if i < 0 {
		return "the root"
	}
	return elems[i].Name
}
