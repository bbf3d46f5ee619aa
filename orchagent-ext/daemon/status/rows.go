// SPDX-License-Identifier: Apache-2.0

package status

import (
	"math"
	"slices"
)

// FlowRows is how many flows STATE_DB has: the heaviest.
const FlowRows = 1000

// First returns the first n of all in an order, and sorts no more than it has to. It
// reorders all.
func First[T any](all []T, n int, compare func(a, b T) int) []T {
	kept, cut := all[:0], false
	for _, v := range all {
		if cut && compare(v, kept[n-1]) >= 0 {
			continue
		}
		if kept = append(kept, v); len(kept) == 2*n {
			slices.SortFunc(kept, compare)
			kept, cut = kept[:n], true
		}
	}
	slices.SortFunc(kept, compare)
	return kept[:min(len(kept), n)]
}

// Rounded returns a number with so many decimals, as the model has it; nil where it is infinite
// or NaN.
func Rounded(v float64, decimals int) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	unit := math.Pow10(decimals)
	v = math.Round(v*unit) / unit
	return &v
}
