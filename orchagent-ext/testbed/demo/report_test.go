// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/cli/evenness"
	"sluice/yang/rows"
)

func goodReport() report {
	return report{
		Balance:        balance{4, evenness.Of([]uint64{0, 64, 0, 0}), evenness.Of([]uint64{16, 20, 16, 12})},
		Labels:         labels{Checked: 128, Right: 128},
		ConfigToSwitch: 12.5,
		method:         methodCompute,
	}
}

func TestReportJudges(t *testing.T) {
	for want, change := range map[string]func(*report){
		"":                                func(*report) {},
		"without labels max ÷ mean is":    func(r *report) { r.Balance.Before = evenness.Of([]uint64{1, 63, 0, 0}) },
		"with labels max ÷ mean is":       func(r *report) { r.Balance.After = evenness.Of([]uint64{0, 0, 21, 21}) },
		"1 of 128 labels are wrong":       func(r *report) { r.Labels.Right-- },
		"0 of 0 labels are wrong":         func(r *report) { r.Labels = labels{} },
		"2 packets arrived with a wrong":  func(r *report) { r.count(verdict{ICRCBad: 2}) },
		"3 packets did not arrive":        func(r *report) { r.count(verdict{Lost: 3}) },
		"4 packets arrived that were not": func(r *report) { r.count(verdict{Foreign: 4}) },
	} {
		r := goodReport()
		change(&r)
		got := ""
		if err := r.judge(); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReportFiles(t *testing.T) {
	r := goodReport()
	folder := t.TempDir()
	if err := r.write(folder); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	side := func(worst, empty float64, loads ...any) map[string]any {
		return map[string]any{"per_path": loads, "worst_over_mean": worst, "empty_paths": empty}
	}
	want := map[string]any{
		"balance": map[string]any{"paths": 4.0, "before": side(4, 3, 0.0, 64.0, 0.0, 0.0), "after": side(1.25, 0, 16.0, 20.0, 16.0, 12.0)},
		"labels":  map[string]any{"checked": 128.0, "right": 128.0}, "icrc_bad": 0.0, "lost": 0.0, "config_to_switch_ms": 12.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if svg, err := os.ReadFile(filepath.Join(folder, "balance.svg")); err != nil || !strings.Contains(string(svg), "Ethernet16") {
		t.Errorf("%v: %.100s", err, svg)
	}
}

// What the demo writes into CONFIG_DB is what the model allows.
func TestRowsAreValid(t *testing.T) {
	ports := map[string]bool{}
	var sluice []rows.Row
	for _, c := range append(portRows(leafSpine()), enableLabels()) {
		if c.Row.Table == "PORT" {
			ports[c.Row.Key] = true
		} else {
			sluice = append(sluice, c.Row)
		}
	}
	if len(ports) != 5 || len(sluice) != 6 {
		t.Errorf("%d ports, %d rows of Sluice: want 5 and 6", len(ports), len(sluice))
	}
	for _, e := range rows.Validate(sluice, func(table, key string) bool { return table == "PORT" && ports[key] }) {
		t.Error(e)
	}
}
