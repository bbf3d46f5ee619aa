// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// A report is report.json.
type report struct {
	Release     string             `json:"release"`  // of SONiC, such as 202505
	Kernel      string             `json:"kernel"`   // that the programs ran on
	Programs    []string           `json:"programs"` // SONiC's, that ran
	Checks      []check            `json:"checks"`
	NotRun      []string           `json:"not_run,omitempty"` // scenarios, each with its reason
	Placement   map[string]float64 `json:"placement"`         // max ÷ mean of the uplinks' receivers, by family
	WarmRestart warmRestart        `json:"warm_restart"`
}

// warmRestart counts the rules that were in force and were written again without need.
type warmRestart struct {
	Rewritten int `json:"rewritten"`
}

// A check is one comparison, as texts that people read.
type check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// equal adds a check that got equals the expected value.
func (r *report) equal(name string, expected, got any) bool {
	c := check{Name: name, Expected: fmt.Sprint(expected), Got: fmt.Sprint(got)}
	return r.add(name, c.Expected == c.Got, c.Expected, c.Got)
}

// add adds a check of a bar, which got is beside.
func (r *report) add(name string, ok bool, bar string, got any) bool {
	c := check{Name: name, OK: ok, Expected: bar, Got: fmt.Sprint(got)}
	verdict := "ok    "
	if !ok {
		verdict = "FAILED"
	}
	fmt.Printf("  %s  %s: expected %s, got %s\n", verdict, c.Name, c.Expected, c.Got)
	r.Checks = append(r.Checks, c)
	return ok
}

// skip records a scenario that this machine cannot run. It counts as no check.
func (r *report) skip(name, why string) {
	fmt.Printf("  not run  %s: %s\n", name, why)
	r.NotRun = append(r.NotRun, name+": "+why)
}

// ran records a program of SONiC.
func (r *report) ran(program string) {
	if !slices.Contains(r.Programs, program) {
		r.Programs = append(r.Programs, program)
		slices.Sort(r.Programs)
	}
}

// failed returns the number of failed checks.
func (r *report) failed() (n int) {
	for _, c := range r.Checks {
		if !c.OK {
			n++
		}
	}
	return n
}

func (r *report) write(file string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // bars have <= in them
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o666)
}
