// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// report is report.json: the results of each kernel.
type report struct {
	Kernels []*result `json:"kernels"`
}

// A result is that of one kernel.
type result struct {
	Kernel  string  `json:"kernel"`
	Release string  `json:"release"`
	Suite   string  `json:"suite"`
	Boot    float64 `json:"boot_seconds"`
	Checks  []check `json:"checks"`
}

// A check is one group of tests, or the answer of a program.
type check struct {
	Name    string   `json:"name"`
	OK      bool     `json:"ok"`
	Passed  int      `json:"passed"`
	Skipped []string `json:"skipped,omitempty"`
	Failed  []string `json:"failed,omitempty"`
	Seconds float64  `json:"seconds"`
	Got     string   `json:"got,omitempty"`
}

func (r *result) add(c check) {
	verdict := "ok    "
	if !c.OK {
		verdict = "FAILED"
	}
	fmt.Printf("  %s  %s: %d passed, skipped %v, failed %v, %.0f s %s\n", verdict, c.Name, c.Passed, c.Skipped, c.Failed, c.Seconds, c.Got)
	r.Checks = append(r.Checks, c)
}

// failed returns the number of failed checks, and that of all.
func (r *report) failed() (n, all int) {
	for _, k := range r.Kernels {
		for _, c := range k.Checks {
			all++
			if !c.OK {
				n++
			}
		}
	}
	return n, all
}

func (r *report) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o666)
}
