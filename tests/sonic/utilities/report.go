// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A report has the checks of a run, in the form of tests/sonic.
type report struct {
	Release  string   `json:"release"`  // of SONiC, by /etc/sonic/sonic_version.yml
	Programs []string `json:"programs"` // of SONiC that ran
	Checks   []check  `json:"checks"`
	NotRun   []string `json:"not_run,omitempty"` // each with its reason
}

// A check is one comparison, as texts that people read.
type check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// skip records what this machine cannot run. It counts as no check.
func (r *report) skip(name, why string) {
	fmt.Printf("  not run  %s: %s\n", name, why)
	r.NotRun = append(r.NotRun, name+": "+why)
}

// judge adds a check that got equals expected.
func (r *report) judge(name string, expected, got any) {
	c := check{Name: name, Expected: fmt.Sprint(expected), Got: fmt.Sprint(got)}
	c.OK = c.Expected == c.Got
	r.add(c)
}

// has adds a check that a text has a part. Got is the text's last lines, or the part.
func (r *report) has(name, part, text string) {
	c := check{Name: name, OK: strings.Contains(text, part), Expected: part, Got: part}
	if !c.OK {
		c.Got = tail(text, 5)
	}
	r.add(c)
}

// holds adds a check of a bar, which got is beside.
func (r *report) holds(name string, ok bool, bar string, got any) {
	r.add(check{Name: name, OK: ok, Expected: bar, Got: fmt.Sprint(got)})
}

func (r *report) add(c check) {
	verdict := "ok    "
	if !c.OK {
		verdict = "FAILED"
	}
	fmt.Printf("  %s  %s: expected %s, got %s\n", verdict, c.Name, c.Expected, c.Got)
	r.Checks = append(r.Checks, c)
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
	text, err := marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o666)
}

// into adds the programs and checks to the report of tests/sonic, which keeps its other parts. Those
// of an earlier run of the same scenarios are replaced. A report that is not there is left so.
func (r *report) into(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var parts map[string]json.RawMessage
	var was report
	if err := errors.Join(json.Unmarshal(text, &parts), json.Unmarshal(text, &was)); err != nil {
		return fmt.Errorf("read the report %s: %w", file, err)
	}
	if was.Release != r.Release {
		return fmt.Errorf("%s is of release %s, these checks are of %s", file, was.Release, r.Release)
	}
	mine := map[string]bool{}
	for _, c := range r.Checks {
		mine[c.Name] = true
	}
	checks := append(slices.DeleteFunc(was.Checks, func(c check) bool { return mine[c.Name] }), r.Checks...)
	programs := append(slices.DeleteFunc(was.Programs, func(p string) bool { return slices.Contains(r.Programs, p) }), r.Programs...)
	if parts["checks"], err = marshal(checks); err != nil {
		return err
	}
	if parts["programs"], err = marshal(programs); err != nil {
		return err
	}
	if notRun := append(slices.DeleteFunc(was.NotRun, func(n string) bool { return slices.Contains(r.NotRun, n) }), r.NotRun...); len(notRun) > 0 {
		if parts["not_run"], err = marshal(notRun); err != nil {
			return err
		}
	}
	if text, err = marshal(parts); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o666)
}

// marshal returns JSON as people read it.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
