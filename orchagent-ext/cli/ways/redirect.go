// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sluice/orchagent-ext/cli/evenness"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/redirect"
)

// samples is how many samples a table of rules gets of a capture: as sFlow brings them in some
// seconds.
const samples = 8192

// redirect computes the rules of stock SONiC's bounds, and the loads with them.
func (t *Table) redirect(r *Result) {
	table := redirect.NewTable(redirect.Config{Moves: redirect.MovesAny, Flows: samples})
	members, index := make([]redirect.Member, r.Paths), map[string]int{}
	for i := range members {
		members[i] = redirect.Member{Name: fmt.Sprint("path ", i), Weight: 1}
		index[members[i].Name] = i
	}
	table.SetMembers(members)
	byLoad := slices.SortedFunc(maps.Keys(t.tuples), func(a, b ecmp.Tuple) int {
		return cmp.Or(cmp.Compare(t.tuples[b], t.tuples[a]), a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.SrcPort, b.SrcPort))
	})
	var sum, largest uint64
	for _, n := range t.tuples {
		sum += n
		largest = max(largest, n)
	}
	if sum == 0 {
		return
	}
	at := make(map[redirect.Flow]int, len(byLoad))
	each := max(sum/samples, 1)
	for _, tuple := range byLoad {
		flow, path := redirect.Flow{Src: tuple.Src, Dst: tuple.Dst, SrcPort: tuple.SrcPort}, t.cfg.Hash.Path(tuple, false, r.Paths)
		at[flow] = path
		load := t.tuples[tuple]
		n := max((load+each/2)/each, 1)
		for range n {
			table.Sample(flow, 1, members[path].Name, int(load/n), 1)
		}
	}
	table.Decide(1, samples)
	for _, rule := range table.Rules() {
		at[rule.Flow] = index[rule.Member]
		r.Rules++
	}
	per := make([]uint64, r.Paths)
	for _, tuple := range byLoad {
		per[at[redirect.Flow{Src: tuple.Src, Dst: tuple.Dst, SrcPort: tuple.SrcPort}]] += t.tuples[tuple]
	}
	r.Redirected, r.RedirectedFloor = evenness.Of(per), max(1, float64(largest)*float64(r.Paths)/float64(sum))
}
