package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRungs is the demo with each means: the software switch hides better ones.
func TestRungs(t *testing.T) {
	newLeaf(t) // skips where the demo cannot run
	for _, tt := range []struct{ rung, hide string }{
		{"compute", ""}, {"rewrite", "compute"}, {"hash", "compute,rewrite"}, {"udf-hash", "compute,rewrite,hash"},
	} {
		t.Run(tt.rung, func(t *testing.T) {
			dir := t.TempDir()
			program, err := filepath.Abs(bin + "sluiced")
			if err != nil {
				t.Fatal(err)
			}
			wrapper := filepath.Join(dir, "sluiced")
			script := fmt.Sprintf("#!/bin/sh\nexec '%s' --sai-profile 'SLUICE_HIDE=%s' \"$@\"\n", program, tt.hide)
			if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(bin+"sluice", "demo", "--sluiced", wrapper, "--captures", "../captures", "--out", dir).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !strings.Contains(string(out), "(rung "+tt.rung+")") {
				t.Errorf("another rung:\n%s", out)
			}
			report(t, filepath.Join(dir, "report.json"))
		})
	}
}

func report(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type spread struct {
		WorstOverMean float64 `json:"worst_over_mean"`
	}
	var r struct {
		Balance struct{ Before, After spread }
		Labels  struct{ Checked, Right int }
		ICRCBad int `json:"icrc_bad"`
		Lost    int
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Balance.Before.WorstOverMean != 4 || r.Balance.After.WorstOverMean > 1.6 ||
		r.Labels.Checked == 0 || r.Labels.Checked != r.Labels.Right || r.ICRCBad != 0 || r.Lost != 0 {
		t.Errorf("%s", text)
	}
}
