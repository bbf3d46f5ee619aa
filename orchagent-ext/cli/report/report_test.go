// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"sluice/orchagent-ext/sim/scenario"
)

// document is that of a small scenario, whose names need escaping.
func document(t *testing.T) *Document {
	t.Helper()
	s, err := scenario.Read(strings.NewReader("title: a < b & c\nfabric: {hosts: 16, hosts_per_leaf: 4}\nloads: [{kind: ring, name: '<ring>', duration_ms: 0.05}, {kind: permutation, duration_ms: 0.05}]\ncompare: [none, label]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.RunAll(context.Background(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(s, results, false)
}

// TestPageIsWhole: table and plots of all runs, escaped, and nothing to load.
func TestPageIsWhole(t *testing.T) {
	d := document(t)
	var s strings.Builder
	if err := d.HTML(&s); err != nil {
		t.Fatal(err)
	}
	page := s.String()
	if strings.Count(page, "<svg") != 6 || strings.Count(page, `class="bar"`) != 4 || strings.Count(page, `<path d="M`) == 0 || strings.Count(page, "</title></path>") != 4 || strings.Count(page, "<tr") != 5 {
		t.Errorf("plots, lines or rows are missing:\n%s", page)
	}
	for _, bad := range []string{"<ring>", "a < b", "<script", "src=", "href="} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{`<p class="headline">label helps the 2 loads most: `, "Source ports: the same for all queue pairs", "<th>CHANGE</th>", "times the mean</title></rect>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if len(d.Rows()) != 4 || len(d.Rows()[0]) != len(Header) {
		t.Errorf("rows %q", d.Rows())
	}
	var svg strings.Builder
	if err := d.FCT(&svg, "<ring>"); err != nil {
		t.Fatal(err)
	}
	for r := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		if _, err := r.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
	}
}

// TestPlotsOfManyFeatures: more features than colors have lines that differ, names are whole in the legend beside the
// plot, and a load of several sizes has a plot of them.
func TestPlotsOfManyFeatures(t *testing.T) {
	s, err := scenario.Read(strings.NewReader("fabric: {hosts: 16, hosts_per_leaf: 4}\nloads: [{kind: flows, distribution: hadoop, duration_ms: 0.05}]\n"+
		"compare: [none, pfc, dcqcn, label, placement, plan, redirect, spray, pfcm, label+pfcm+advice]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.RunAll(context.Background(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := New(s, results, false)
	var fct, slow strings.Builder
	if err := d.FCT(&fct, "flows"); err != nil {
		t.Fatal(err)
	}
	if ok, err := d.Slowdown(&slow, "flows"); !ok || err != nil {
		t.Fatalf("%t, %v", ok, err)
	}
	for name, svg := range map[string]string{"FCT": fct.String(), "slowdown": slow.String()} {
		styles := map[string]bool{}
		for _, l := range strings.Split(svg, "\n") {
			if _, style, ok := strings.Cut(l, `fill="none" `); ok && strings.HasSuffix(l, "</path>") {
				styles[style] = true
			}
		}
		if len(styles) != 10 || !strings.Contains(svg, `<svg xmlns="http://www.w3.org/2000/svg" width="502"`) {
			t.Errorf("%s: %d styles of lines:\n%s", name, len(styles), svg)
		}
	}
	if !strings.Contains(slow.String(), ">≤ 1 kB<") || strings.Contains(slow.String(), "NaN") {
		t.Errorf("sizes:\n%s", &slow)
	}
}
