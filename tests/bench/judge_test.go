// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedBars are bars for testdata/recorded.txt: held, missed, a pattern of
// sub-benchmarks, and one that is only reported.
var recordedBars = []bar{
	{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkParse", unit: "ns/op", limit: atMost(40)},
	{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkParse", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkMillionFlows", unit: "MiB/Mflow", limit: atMost(200)},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkEncode/*", unit: "ns/op", limit: atMost(100)},
	{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkICRC", unit: "MB/s"},
	{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkICRC", unit: "MB/s", limit: atLeast(20000), with: "zlib"},
}

func TestJudgeComparesWithBars(t *testing.T) {
	got, err := judge(recordedBars, recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := []figure{
		{Name: "orchagent-ext/wire/roce BenchmarkParse", Value: 16.52, Unit: "ns/op", Spread: (40.37 - 16.5) / 16.52, Bar: "<= 40 ns/op", OK: &yes},
		{Name: "orchagent-ext/wire/roce BenchmarkParse", Unit: "allocs/op", Bar: "<= 0 allocs/op", OK: &yes},
		{Name: "orchagent-ext/flows/flow BenchmarkMillionFlows", Value: 221.8, Unit: "MiB/Mflow", Bar: "<= 200 MiB/Mflow", OK: &no},
		{Name: "orchagent-ext/flows/flow BenchmarkEncode/pfcm-icmpv6", Value: 50, Unit: "ns/op", Bar: "<= 100 ns/op", OK: &yes},
		{Name: "orchagent-ext/flows/flow BenchmarkEncode/cnp", Value: 150, Unit: "ns/op", Bar: "<= 100 ns/op", OK: &no},
		{Name: "orchagent-ext/wire/roce BenchmarkICRC", Value: 10000, Unit: "MB/s", Spread: 0.4},
		{Name: "orchagent-ext/wire/roce BenchmarkICRC", Value: 10000, Unit: "MB/s", Spread: 0.4, Bar: ">= 20000 MB/s", OK: &no, ComparedWith: "zlib"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestJudgeNamesWhatIsMissing(t *testing.T) {
	table := []bar{
		{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkParse", unit: "ns/op"},    // of another package
		{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkParse", unit: "MB/s"},      // another unit
		{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkParse/*", unit: "ns/op"},   // has no sub-benchmark
		{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkParse", unit: "ns/op"},     // there
		{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkEncode", unit: "ns/op"},   // has only sub-benchmarks
		{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkMillion", unit: "ns/op"},  // beginning of a name
		{pkg: "ext/roce", benchmark: "BenchmarkParse", unit: "ns/op"},                    // end of a folder's name
		{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkEncode/[", unit: "ns/op"}, // not a pattern
	}
	got, err := judge(table, recorded(t))
	if len(got) != 1 || err == nil || len(strings.Split(err.Error(), "\n")) != len(table)-1 {
		t.Errorf("%d figures, error %v; want 1 figure and %d errors", len(got), err, len(table)-1)
	}
	if err != nil && !strings.Contains(err.Error(), "orchagent-ext/flows/flow: no BenchmarkParse reported ns/op") {
		t.Errorf("error %q does not name the first one", err)
	}
}

func TestOptionalBarsMayBeMissing(t *testing.T) {
	table := []bar{
		{pkg: "tests/bench/other", benchmark: "BenchmarkParse", unit: "ns/op", optional: true},
		{pkg: "tests/bench/mixed", benchmark: "BenchmarkParse", unit: "ns/op", optional: true},
		{pkg: "tests/bench/mixed", benchmark: "BenchmarkParse", unit: "allocs/op"},
	}
	if _, err := judge(table[:2], recorded(t)); err != nil {
		t.Error(err)
	}
	if !optional(table, "tests/bench/other") || optional(table, "tests/bench/mixed") {
		t.Error("a package is optional if all of its bars are")
	}
}

// TestPackageMeasuredAgain: its figures take the place of the former ones, and all others stay.
func TestPackageMeasuredAgain(t *testing.T) {
	report := []figure{{Name: "a BenchmarkX", Value: 1}, {Name: "b BenchmarkY", Value: 2}, {Name: "b BenchmarkGone", Value: 3}, {Name: "ab BenchmarkX", Value: 4}, {Name: "b BenchmarkZ", Value: 5}}
	again := []figure{{Name: "c BenchmarkNew", Value: 6}, {Name: "b BenchmarkY", Value: 7}, {Name: "b BenchmarkZ", Value: 8}}
	want := []figure{{Name: "a BenchmarkX", Value: 1}, {Name: "b BenchmarkY", Value: 7}, {Name: "b BenchmarkZ", Value: 8}, {Name: "ab BenchmarkX", Value: 4}, {Name: "c BenchmarkNew", Value: 6}}
	pkgs := []string{"b", "c"}
	if diff := cmp.Diff(want, replaced(report, again, pkgs)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(again[1:], replaced(nil, again[1:], pkgs)); diff != "" {
		t.Errorf("without a report (-want +got):\n%s", diff)
	}
	want = []figure{report[0], report[3]}
	if diff := cmp.Diff(want, replaced(report, nil, pkgs)); diff != "" {
		t.Errorf("where b failed (-want +got):\n%s", diff)
	}
}

func TestMedianAndSpread(t *testing.T) {
	for _, c := range []struct {
		values         []float64
		median, spread float64
	}{
		{[]float64{7}, 7, 0},
		{[]float64{3, 1, 2}, 2, 1},
		{[]float64{4, 1, 2, 3}, 2.5, 1.2},
		{[]float64{0, 0, 0}, 0, 0},
		{[]float64{0, 5, 0}, 0, 1},
	} {
		if m, s := median(c.values), spread(c.values); m != c.median || s != c.spread {
			t.Errorf("%v: median %v, spread %v; want %v, %v", c.values, m, s, c.median, c.spread)
		}
	}
}

func TestWriteTable(t *testing.T) {
	figures, err := judge(recordedBars, recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := writeTable(&got, figures); err != nil {
		t.Fatal(err)
	}
	const want = `benchmark                                             median  unit       spread  bar
orchagent-ext/wire/roce BenchmarkParse                16.5    ns/op      144 %   holds  <= 40 ns/op
orchagent-ext/wire/roce BenchmarkParse                0       allocs/op  0 %     holds  <= 0 allocs/op
orchagent-ext/flows/flow BenchmarkMillionFlows        221.8   MiB/Mflow  0 %     MISSED <= 200 MiB/Mflow
orchagent-ext/flows/flow BenchmarkEncode/pfcm-icmpv6  50      ns/op      0 %     holds  <= 100 ns/op
orchagent-ext/flows/flow BenchmarkEncode/cnp          150     ns/op      0 %     MISSED <= 100 ns/op
orchagent-ext/wire/roce BenchmarkICRC                 10000   MB/s       40 %    no bar
orchagent-ext/wire/roce BenchmarkICRC                 10000   MB/s       40 %    MISSED >= 20000 MB/s
3 of 6 bars hold
`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
}

func TestWriteJSON(t *testing.T) {
	figures, err := judge(recordedBars, recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bench", "report.json")
	if err := writeJSON(file, figures); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	missed := map[string]any{"name": "orchagent-ext/flows/flow BenchmarkMillionFlows", "value": 221.8, "unit": "MiB/Mflow",
		"spread": 0.0, "bar": "<= 200 MiB/Mflow", "ok": false, "compared_with": ""}
	if d := cmp.Diff(missed, got[2]); d != "" {
		t.Error(d)
	}
	if ok, there := got[5]["ok"]; !there || ok != nil {
		t.Errorf("ok of a figure without bar is %v, want null", ok)
	}
	if !bytes.Contains(b, []byte(`"<= 40 ns/op"`)) {
		t.Error("the bar is escaped")
	}
}
