// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// recorded is the output of go test for two packages, read from testdata.
func recorded(t *testing.T) []series {
	t.Helper()
	f, err := os.Open("testdata/recorded.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestParseReadsResults(t *testing.T) {
	const roce, flow = "sluice/orchagent-ext/wire/roce", "sluice/orchagent-ext/flows/flow"
	want := []series{
		{roce, "BenchmarkParse", "ns/op", []float64{40.37, 16.52, 16.5}},
		{roce, "BenchmarkParse", "B/op", []float64{0, 0, 0}},
		{roce, "BenchmarkParse", "allocs/op", []float64{0, 0, 0}},
		{roce, "BenchmarkICRC", "ns/op", []float64{87.72, 124.4}},
		{roce, "BenchmarkICRC", "MB/s", []float64{12000, 8000}},
		{roce, "BenchmarkICRC", "B/op", []float64{0, 0}},
		{roce, "BenchmarkICRC", "allocs/op", []float64{0, 0}},
		{flow, "BenchmarkMillionFlows", "ns/op", []float64{751513333, 643975607}},
		{flow, "BenchmarkMillionFlows", "MiB/Mflow", []float64{221.8, 221.8}},
		{flow, "BenchmarkMillionFlows", "B/op", []float64{232530336, 232530336}},
		{flow, "BenchmarkMillionFlows", "allocs/op", []float64{11, 11}},
		{flow, "BenchmarkEncode/pfcm-icmpv6", "ns/op", []float64{50}},
		{flow, "BenchmarkEncode/pfcm-icmpv6", "B/op", []float64{0}},
		{flow, "BenchmarkEncode/pfcm-icmpv6", "allocs/op", []float64{0}},
		{flow, "BenchmarkEncode/cnp", "ns/op", []float64{150}},
		{flow, "BenchmarkEncode/cnp", "B/op", []float64{0}},
		{flow, "BenchmarkEncode/cnp", "allocs/op", []float64{0}},
	}
	if d := cmp.Diff(want, recorded(t), cmp.AllowUnexported(series{})); d != "" {
		t.Error(d)
	}
}

func TestParseReportsReadError(t *testing.T) {
	broken := errors.New("broken pipe")
	if _, err := parse(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestBenchRegexp(t *testing.T) {
	table := []bar{
		{pkg: "a", benchmark: "BenchmarkX", unit: "ns/op"},
		{pkg: "a", benchmark: "BenchmarkX", unit: "allocs/op"},
		{pkg: "b", benchmark: "BenchmarkZ", unit: "ns/op"},
		{pkg: "a", benchmark: "BenchmarkY/*", unit: "ns/op"},
	}
	if got, want := benchRegexp(table, "a"), "^(BenchmarkX|BenchmarkY)$"; got != want {
		t.Errorf("regexp %q, want %q", got, want)
	}
	if d := cmp.Diff([]string{"a", "b"}, packages(table)); d != "" {
		t.Error(d)
	}
}
