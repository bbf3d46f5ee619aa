// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCostOfPairs: the interval is that of the ratios' order: the least and the largest of 7, the
// second of each end of 9.
func TestCostOfPairs(t *testing.T) {
	for _, tt := range []struct {
		name              string
		bar               bar
		here, there       []float64
		middle, low, high float64
	}{
		{"lower is better", bar{unit: "ns/op"}, []float64{10, 11, 12, 13, 14, 15, 16}, []float64{10, 10, 10, 10, 10, 10, 10}, 1.3, 1, 1.6},
		{"higher is better by its unit", bar{unit: "packets/s"}, []float64{10, 10, 10, 10, 10, 10, 10}, []float64{20, 10, 5, 20, 10, 5, 20}, 1, 0.5, 2},
		{"higher is better by its bar", bar{unit: "flows", limit: atLeast(32)}, []float64{16, 16, 16, 16, 16, 16}, []float64{32, 32, 32, 32, 32, 32}, 2, 2, 2},
		{"a ratio to a peer is lower by its bar", bar{unit: "ratio", limit: atMost(1)}, []float64{1, 1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2, 2}, 0.5, 0.5, 0.5},
		{"nine", bar{unit: "s"}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, 5, 2, 8},
		{"none on both sides", bar{unit: "allocs/op"}, []float64{0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0}, 1, 1, 1},
		{"some in place of none", bar{unit: "allocs/op"}, []float64{2, 2, 2, 2, 2, 2}, []float64{0, 0, 0, 0, 0, 0}, math.Inf(1), math.Inf(1), math.Inf(1)},
	} {
		p := pairing{bar: tt.bar, here: tt.here, there: tt.there}
		if middle, low, high := p.cost(); middle != tt.middle || low != tt.low || high != tt.high {
			t.Errorf("%s: %v (%v to %v), want %v (%v to %v)", tt.name, middle, low, high, tt.middle, tt.low, tt.high)
		}
	}
}

// TestPairsAreOfBenchmarksOfBothTrees: of a package's bars those that the other tree's program lists.
func TestPairsAreOfBenchmarksOfBothTrees(t *testing.T) {
	program := filepath.Join(t.TempDir(), "there.test")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ $1 = -test.list=^Benchmark ] && printf 'BenchmarkX\\nBenchmarkOther\\n'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	table := []bar{{pkg: "a", benchmark: "BenchmarkX/one"}, {pkg: "a", benchmark: "BenchmarkNew"}, {pkg: "a", benchmark: "BenchmarkX"}, {pkg: "b", benchmark: "BenchmarkX"}}
	got, err := barsOf(t.Context(), table, "a", program, ".")
	if err != nil || len(got) != 2 || benchRegexp(got, "a") != "^(BenchmarkX)$" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPairsNameWhatIsWorse: a row fails where its whole interval lies beyond 5 %.
func TestPairsNameWhatIsWorse(t *testing.T) {
	table := []bar{{pkg: "wire/roce", benchmark: "BenchmarkParse", unit: "ns/op"}, {pkg: "wire/roce", benchmark: "BenchmarkICRC/*", unit: "ns/op"}}
	var pairs []*pairing
	for run := range 7 {
		ones := func(parse, crc float64) []series {
			return []series{
				{pkg: "sluice/wire/roce", benchmark: "BenchmarkParse", unit: "ns/op", values: []float64{parse}},
				{pkg: "sluice/wire/roce", benchmark: "BenchmarkICRC/64", unit: "ns/op", values: []float64{crc}},
				{pkg: "sluice/wire/roce", benchmark: "BenchmarkICRC/64", unit: "B/op", values: []float64{1}},
			}
		}
		noise := float64(run) / 100
		pairs = pair(pairs, table, ones(1.06+noise, 1.04+noise), append(ones(1, 1), series{benchmark: "BenchmarkGone", unit: "ns/op", values: []float64{1}}))
	}
	var out bytes.Buffer
	err := writePairs(&out, pairs)
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "wire/roce BenchmarkParse: ns/op costs 1.090 of the other tree's (1.060 to 1.120)") {
		t.Errorf("error %v", err)
	}
	if text := out.String(); strings.Count(text, "\n") != 3 || !strings.Contains(text, "1.070  1.040 to 1.100  holds") {
		t.Errorf("table:\n%s", text)
	}
}
