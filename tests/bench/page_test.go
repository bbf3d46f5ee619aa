// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestPageSaysWhyBarsAreMissed(t *testing.T) {
	table := append([]bar{}, recordedBars...)
	table[2].why = "each flow has two cache lines"
	table[0].bound = "the header is read once"
	figures, err := judge(table, recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := render(&b, newPage(table, figures, "Machine: a loom")); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"Machine: a loom.\n",
		"3 of 6 bars hold.\n",
		"\n| wire/roce Parse | 16.5 ns/op | 144 % | <= 40 ns/op |  |\n",
		"\n| flows/flow MillionFlows | 221.8 MiB/Mflow | 0 % | **<= 200 MiB/Mflow** |  |\n",
		"| **>= 20000 MB/s** | zlib |\n",
		"\n## Limits that are known\n\n- `wire/roce Parse`, 16.5 ns/op: the header is read once.\n",
		"\n- `flows/flow MillionFlows`, 221.8 MiB/Mflow (<= 200 MiB/Mflow): each flow has two cache lines.\n",
		"\n- `wire/roce ICRC`, 10000 MB/s (>= 20000 MB/s): not explained yet.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "allocs/op") {
		t.Error("a row of 0 allocations that holds is on the page")
	}
	if t.Failed() {
		t.Log(page)
	}
}

func TestMachineIsNamed(t *testing.T) {
	m, err := machine()
	if err != nil || !strings.Contains(m, " CPUs, Linux ") || !strings.Contains(m, "go1.") {
		t.Errorf("machine %q, error %v", m, err)
	}
}
