// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func TestReadNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"fabric: {hosts: 64}\ncolor: red\nloads: [{kind: ring}]":   "line 2: unknown key color: known are adapters, advise,",
		"fabric: {hosts: 64 Gbit}":                                 `line 1: "64 Gbit" is not a whole number`,
		"fabric: {host: 64}":                                       "line 1: unknown key host: hosts is known",
		"loads: ring":                                              `line 1: "ring" is not a list`,
		"fabric: 3":                                                "is not a map of cores_per_spine,",
		"loads: [{kind: ring, duration_ms: 2ms}]":                  `line 1: "2ms" is not a number without its unit`,
		"loads: [{kind: replay}]":                                  "file is missing",
		"loads: []":                                                "loads: there is none",
		"loads: [{kind: gossip}]":                                  "incast permutation ring",
		"loads: [{kind: ring}, {kind: ring}]":                      "used twice",
		"fabric: {hosts: 7, hosts_per_leaf: 2}":                    "does not divide",
		"loads: [{kind: ring}]\ncompare: [warp]":                   `"warp"`,
		"loads: [{kind: ring}]\nadapters: {recovery: hope}":        "go-back-n or selective-repeat",
		"loads: [{kind: ring}]\nswitches: {buffer_mib: -1}":        "buffer_mib",
		"loads: [{kind: ring}]\npaths: {hash: md5}":                "md5",
		"loads: [{kind: ring, duration_ms: 1, queue_pairs: 1000}]": "queue_pairs 1000",
	} {
		if _, err := Read(strings.NewReader(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v lacks %q", text, err, want)
		}
	}
}

// TestExampleRunsSideBySideAsAlone: two workers change no result.
func TestExampleRunsSideBySideAsAlone(t *testing.T) {
	var all []string
	for _, workers := range []int{1, 2} {
		s, err := Read(bytes.NewReader(Example), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Loads {
			s.Loads[i].DurationMS = 0.02
		}
		last := Progress{}
		results, err := s.RunAll(context.Background(), workers, func(p Progress) { last = p })
		if err != nil {
			t.Fatal(err)
		}
		if last.Ended != 8 || last.Runs != 8 || last.Part != 1 {
			t.Errorf("the last progress is %+v", last)
		}
		for _, runs := range results {
			for _, r := range runs {
				r.WallS = 0
			}
		}
		text, err := json.Marshal(results)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	if all[0] != all[1] {
		t.Error("results differ")
	}
}

func TestInterruptReturnsTheRunsThereAre(t *testing.T) {
	s, err := Read(bytes.NewReader(Example), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Loads {
		s.Loads[i].DurationMS = 0.02
	}
	ctx, cancel := context.WithCancel(context.Background())
	results, err := s.RunAll(ctx, 1, func(p Progress) {
		if p.Ended == 1 {
			cancel()
		}
	})
	n := 0
	for _, runs := range results {
		n += len(runs)
	}
	if err != nil || n == 0 || n == 8 {
		t.Errorf("%d runs, %v", n, err)
	}
}
