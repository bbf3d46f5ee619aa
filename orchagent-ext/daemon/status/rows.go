// SPDX-License-Identifier: Apache-2.0

package status

import (
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/db/telemetry"
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

// Instant is a moment by two clocks.
type Instant struct {
	Wall      time.Time
	Monotonic int64 // ns of CLOCK_MONOTONIC
}

// Of returns the time of ns of CLOCK_MONOTONIC.
func (i Instant) Of(ns int64) time.Time { return i.Wall.Add(time.Duration(ns - i.Monotonic)) }

// AddCounters adds the counters of a row to those of another row of its table. Times stay, and so do
// counters that only one of them has.
func AddCounters(to, from ygot.GoStruct) {
	is, was := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range is.NumField() {
		n, counter := is.Field(i).Interface().(*uint64)
		if m, _ := was.Field(i).Interface().(*uint64); counter && n != nil && m != nil {
			is.Field(i).Set(reflect.ValueOf(telemetry.Count(*n + *m)))
		}
	}
}
