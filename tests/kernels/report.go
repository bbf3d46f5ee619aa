// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// report is report.json: the results of each kernel. Its methods, and those of its results, may be
// called from any goroutine.
type report struct {
	Kernels []*result `json:"kernels"`
	Seconds float64   `json:"seconds"` // of the whole run, with its builds

	file  string
	began time.Time
	mu    sync.Mutex
}

// A result is that of one kernel.
type result struct {
	Kernel  string  `json:"kernel"`
	Release string  `json:"release"`
	Suite   string  `json:"suite"`
	Boot    float64 `json:"boot_seconds"`
	Checks  []check `json:"checks"`

	report *report
}

// of adds the result of a kernel.
func (r *report) of(k kernel) *result {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := &result{Kernel: k.name, Suite: k.suite, report: r}
	r.Kernels = append(r.Kernels, one)
	return one
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

// booted notes that the kernel has booted.
func (r *result) booted(release string, took time.Duration) {
	r.report.mu.Lock()
	defer r.report.mu.Unlock()
	r.Release, r.Boot = release, took.Seconds()
	fmt.Printf("kernel %s of %s: booted in %.0f s\n", release, r.Suite, r.Boot)
}

// add adds a check, and prints it.
func (r *result) add(c check) {
	r.report.mu.Lock()
	defer r.report.mu.Unlock()
	verdict := "ok    "
	if !c.OK {
		verdict = "FAILED"
	}
	fmt.Printf("%s  %s  %s: %d passed, skipped %v, failed %v, %.0f s %s\n", r.Kernel, verdict, c.Name, c.Passed, c.Skipped, c.Failed, c.Seconds, c.Got)
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

func (r *report) write() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Seconds = time.Since(r.began).Seconds()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file, append(text, '\n'), 0o666)
}
