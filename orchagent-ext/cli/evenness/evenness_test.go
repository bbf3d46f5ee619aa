// SPDX-License-Identifier: Apache-2.0

package evenness

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/cli/chart"
)

func TestSpreadOfPaths(t *testing.T) {
	for _, want := range []Spread{
		{[]uint64{6400, 0, 0, 0}, 4, 3},
		{[]uint64{0, 1, 0, 1}, 2, 2},
		{[]uint64{5, 5}, 1, 0},
		{[]uint64{1, 2, 3}, 1.5, 0},
		{[]uint64{0, 0}, 0, 2},
		{[]uint64{1 << 62, 0}, 2, 1},
		{nil, 0, 0},
	} {
		if diff := cmp.Diff(want, Of(want.PerPath)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestGroupDrawsPaths(t *testing.T) {
	got := Of([]uint64{3, 0}).Group("before", func(i int) string { return fmt.Sprint("Ethernet", 4*i) }, func(n uint64) string { return fmt.Sprint(n, " packets") })
	want := chart.Group{Title: "before", Note: "max ÷ mean 2.00, 1 of 2 paths empty", Bars: []chart.Bar{
		{Label: "Ethernet0", Value: 3, Text: "3 packets"}, {Label: "Ethernet4", Text: "0 packets"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
