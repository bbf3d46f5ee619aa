// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func goodPlacement() *placementReport {
	return &placementReport{
		Placement: map[string]*placementRun{"zipf": {WorstOverMean: 1.01, HashWorstOverMean: 1.6, Floor: 1, Moves: 12, Seconds: 0.8}},
		order:     []phase{{name: "zipf", most: 1.05, moves: 20}}, method: "compute", full: true, Unlabelled: 4,
	}
}

// Each bar is held, and times only where they count.
func TestPlacementIsJudged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*placementReport)
		want   string
	}{
		"good":           {func(*placementReport) {}, ""},
		"uneven":         {func(r *placementReport) { r.Placement["zipf"].WorstOverMean = 1.06 }, "max ÷ mean is 1.060: want at most 1.05"},
		"as by hash":     {func(r *placementReport) { r.Placement["zipf"].WorstOverMean, r.full = 1.61, false }, "max ÷ mean is 1.610: want at most 1.60"},
		"busy, not full": {func(r *placementReport) { r.Placement["zipf"].WorstOverMean, r.full = 1.06, false }, ""},
		"nothing sent":   {func(r *placementReport) { r.Placement["zipf"].WorstOverMean = 0 }, "max ÷ mean is 0.000"},
		"many moves":     {func(r *placementReport) { r.Placement["zipf"].Moves = 21 }, "21 moves: want at most 20"},
		"late":           {func(r *placementReport) { r.Placement["zipf"].Seconds = 3.1 }, "for 3.1 s: want at most 3s"},
		"late, not full": {func(r *placementReport) { r.Placement["zipf"].Seconds, r.full = 3.1, false }, ""},
		"moves after":    {func(r *placementReport) { r.Placement["zipf"].After = 1 }, "1 flows moved while the load stayed"},
	} {
		r := goodPlacement()
		tt.change(r)
		err := r.judge()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// The report has the key placement, beside those of other scenarios.
func TestPlacementReport(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "report.json")
	if err := os.WriteFile(path, []byte(`{"balance": {"paths": 4}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := goodPlacement().write(folder); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Balance   map[string]int                `json:"balance"`
		Placement map[string]map[string]float64 `json:"placement"`
	}
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	zipf := all.Placement["zipf"]
	if all.Balance["paths"] != 4 || zipf["worst_over_mean"] != 1.01 || zipf["hash_worst_over_mean"] != 1.6 || zipf["floor"] != 1 || zipf["moves"] != 12 || zipf["seconds"] != 0.8 {
		t.Errorf("%s", content)
	}
}

// What counts is the last second, and the time is that of the last burst above the bar.
func TestSettledIsTheTimeOfTheLastBurstAboveTheBar(t *testing.T) {
	var samples []sample
	for i := range 30 {
		octets := []uint64{100, 100}
		if i < 10 {
			octets = []uint64{200, 0}
		}
		samples = append(samples, sample{at: time.Duration(i+1) * 100 * time.Millisecond, octets: octets})
	}
	if worst, seconds := settled(samples, nil, 1.05); worst != 1 || seconds != 1 {
		t.Errorf("max ÷ mean %v after %v s", worst, seconds)
	}
	if worst := worstToMean([]uint64{100, 200, 400, 100}, []float64{1, 2, 4, 1}); worst != 1 {
		t.Errorf("by weight: %v", worst)
	}
	if worst := worstToMean([]uint64{100, 0, 100, 100}, []float64{1, 0, 1, 1}); worst != 1 {
		t.Errorf("without a path: %v", worst)
	}
}
