// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tinyFabric = "fabric: {hosts: 8, hosts_per_leaf: 4, spines: 2}\nloads: [{kind: ring, duration_ms: 0.02}]\n"

// TestSimPrintsJSONAndWritesAPage of a scenario from standard input.
func TestSimPrintsJSONAndWritesAPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"sim", "-", "--compare", "none,label+pfcm", "--html", page, "--json"}, strings.NewReader(tinyFabric), &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	var d struct {
		Runs map[string]map[string]struct {
			CollectiveS float64 `json:"collective_s"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if r := d.Runs["ring"]; len(r) != 2 || r["none"].CollectiveS <= 0 || r["label+pfcm"].CollectiveS <= 0 {
		t.Errorf("runs %+v", d.Runs)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "label&#43;pfcm") && !strings.Contains(string(text), "label+pfcm") || !strings.HasSuffix(string(text), "</html>\n") {
		t.Errorf("page %q, %v", text, err)
	}
}

// TestSimEndsAtAnInterruptWithItsResults, and exit code 130.
func TestSimEndsAtAnInterruptWithItsResults(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"sim", "-"}, strings.NewReader(tinyFabric), &out, &errs); code != 130 || errs.Len() != 0 {
		t.Errorf("exit %d: %s%s", code, &out, &errs)
	}
}

// TestSimNamesTheLineOfAnUnknownKey, and the features that there are.
func TestSimNamesTheLineOfAnUnknownKey(t *testing.T) {
	for _, tt := range []struct{ input, compare, want string }{
		{tinyFabric + "shade: red\n", "none", "standard input: line 3: unknown key shade"},
		{tinyFabric, "magic", `--compare: feature "magic": one of none, pfc`},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"sim", "-", "--compare", tt.compare}, strings.NewReader(tt.input), &out, &errs)
		if got := strings.Join(strings.Fields(errs.String()), " "); code != 1 || !strings.Contains(got, tt.want) {
			t.Errorf("exit %d, error %q lacks %q", code, got, tt.want)
		}
	}
}

// TestSimReplaysACaptureAndItsFlowRecords: a capture, and the IPFIX file that export makes of it,
// beside the scenario; both have all octets that the capture has.
func TestSimReplaysACaptureAndItsFlowRecords(t *testing.T) {
	dir := t.TempDir()
	pcap, records, file := filepath.Join(dir, "x.pcap"), filepath.Join(dir, "x.ipfix"), filepath.Join(dir, "x.yaml")
	text := "fabric: {hosts: 16, hosts_per_leaf: 2, spines: 2}\nloads:\n- {kind: replay, name: capture, file: x.pcap}\n- {kind: replay, name: records, file: x.ipfix}\ncompare: [none]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	for _, args := range [][]string{
		{"gen", pcap, "--pairs", "4", "--qps", "2", "--packets", "800", "--payload", "1024"},
		{"export", pcap, "--file", records},
		{"sim", file, "--json"},
	} {
		out.Reset()
		if code := runEither(t.Context(), args, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, &errs)
		}
	}
	var d struct {
		Runs map[string]map[string]struct{ Messages, Octets, Unfinished int }
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	c, r := d.Runs["capture"]["none"], d.Runs["records"]["none"]
	if c.Messages != 200 || c.Octets != 800*1024 || c.Unfinished != 0 { // a write has 4 packets
		t.Errorf("capture: %+v", c)
	}
	// A record counts the 16 octets of a write's first packet that say where it goes.
	if r.Messages != 8 || r.Octets < 800*1024 || r.Octets > 800*1024+200*16 || r.Unfinished != 0 {
		t.Errorf("records: %+v", r)
	}
	if err := os.WriteFile(pcap, []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"sim", file}, strings.NewReader(""), &out, &errs); code != 1 || !strings.Contains(errs.String(), "x.pcap: not a pcap or pcapng file") {
		t.Errorf("exit %d: %s", code, &errs)
	}
}
