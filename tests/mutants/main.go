// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", "a `regexp` of patches; all of them are run by default")
	jobs := flag.Int("jobs", runtime.NumCPU(), "how many run at a time")
	flag.Parse()
	if err := run(*only, *jobs); err != nil {
		log.Fatal("mutants: ", err)
	}
}

// outcome is a mutant in the report.
type outcome struct {
	Row    string `json:"row"`
	Patch  string `json:"patch"`
	Test   string `json:"test"`
	Killed bool   `json:"killed"`
	Commit string `json:"commit"` // that it ran on
}

// report is build/mutants/report.json.
type report struct {
	Mutants []outcome `json:"mutants"`
	Killed  int       `json:"killed"`
	Total   int       `json:"total"`
}

// run runs the chosen mutants, beginning with the tests as they are, from the root of the tree.
func run(only string, jobs int) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := readMutants("tests/mutants")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range all {
		known[m.patch] = true
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !chosen.MatchString(m.patch) })
	if err := pass(all); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	r := report{Mutants: make([]outcome, len(all)), Total: len(all)}
	errs := make([]error, len(all))
	var group sync.WaitGroup
	turns, at := make(chan struct{}, jobs), commit()
	for i := range all {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			m := &all[i]
			o := &r.Mutants[i]
			*o = outcome{Row: m.row, Patch: m.patch, Test: m.folder + " " + m.test, Commit: at}
			o.Killed, errs[i] = m.kill(filepath.Join(work, fmt.Sprint(i)))
			result := map[bool]string{true: "killed", false: "SURVIVES"}[o.Killed]
			if errs[i] != nil {
				result = "ERROR"
			}
			fmt.Printf("%-8s %s (%s)\n", result, m.patch, m.test)
		})
	}
	group.Wait()
	survivors := []string{}
	ran := r.Mutants[:0]
	for i := range all {
		switch o := r.Mutants[i]; {
		case errs[i] != nil: // it is no mutant, and has no outcome
			continue
		case o.Killed:
			r.Killed++
			ran = append(ran, o)
		default:
			survivors = append(survivors, all[i].row)
			ran = append(ran, o)
		}
	}
	r.Mutants, r.Total = ran, len(ran)
	fmt.Printf("%d of %d mutants killed\n", r.Killed, r.Total)
	if err = errors.Join(errs...); err == nil && only == "" {
		return r.write(survivors)
	}
	whole, failed := r.merge(known)
	if failed == nil {
		failed = whole.save()
	}
	return errors.Join(err, failed)
}

// reportFile is where the report is.
const reportFile = "build/mutants/report.json"

// merge returns the report of the run before with the outcomes of this one, of the patches that are there.
func (r *report) merge(there map[string]bool) (*report, error) {
	whole := &report{}
	text, err := os.ReadFile(reportFile)
	if err == nil {
		err = json.Unmarshal(text, whole)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, o := range r.Mutants {
		delete(there, o.Patch)
	}
	whole.Mutants = slices.DeleteFunc(whole.Mutants, func(o outcome) bool { return !there[o.Patch] })
	whole.Mutants = append(whole.Mutants, r.Mutants...)
	slices.SortFunc(whole.Mutants, func(a, b outcome) int { return strings.Compare(a.Patch, b.Patch) })
	whole.Killed, whole.Total = 0, len(whole.Mutants)
	for _, o := range whole.Mutants {
		if o.Killed {
			whole.Killed++
		}
	}
	return whole, nil
}

// save writes the report.
func (r *report) save() error {
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(reportFile), 0o755)
	}
	if err == nil {
		err = os.WriteFile(reportFile, append(text, '\n'), 0o644)
	}
	return err
}

// write saves the report of a whole run, and compares the survivors with those of the tree.
func (r *report) write(survivors []string) error {
	if err := r.save(); err != nil {
		return err
	}
	known, err := readSurvivors("tests/mutants")
	if err != nil {
		return err
	}
	slices.Sort(survivors)
	if survivors = slices.Compact(survivors); !slices.Equal(known, survivors) {
		return fmt.Errorf("tests/mutants/survivors.txt has %q, and those of %q survive: write them there, and make generate", known, survivors)
	}
	return nil
}

// commit is that of the tree, as git describes it.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty=.dirty", "--exclude", "*").Output()
	if err != nil {
		return "" // no repository
	}
	return strings.TrimSpace(string(out))
}

// readSurvivors reads the rows of survivors.txt, in their order.
func readSurvivors(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "survivors.txt"))
	rows := []string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			rows = append(rows, line)
		}
	}
	return rows, err
}

// pass runs the tests of mutants with the product as it is: one that fails then would prove nothing.
func pass(all []mutant) error {
	tests := map[string][]string{}
	for _, m := range all {
		if !slices.Contains(tests[m.folder], m.test) {
			tests[m.folder] = append(tests[m.folder], m.test)
		}
	}
	for folder, names := range tests {
		out, err := test(folder, strings.Join(names, "|"), nil, nil)
		if err != nil {
			return fmt.Errorf("without a mutant: %s %v: %w\n%s", folder, names, err, out)
		}
	}
	return nil
}

// kill reports whether the test fails with the mutant; work is a folder for its files.
func (m *mutant) kill(work string) (bool, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return false, err
	}
	text, err := m.apply(string(source))
	if err != nil {
		return false, err
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		return false, err
	}
	build := m.overlay
	if strings.HasPrefix(m.file, softsai+"/") {
		build = m.library
	}
	options, env, err := build(work, text)
	if err != nil {
		return false, err
	}
	out, err := test(m.folder, m.test, options, env)
	switch {
	case err == nil:
		return false, nil
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return false, fmt.Errorf("%s does not compile:\n%s", m.patch, out)
	case !failed(out, m.test):
		return false, fmt.Errorf("%s: %s has not failed by itself: %w\n%s", m.patch, m.test, err, out)
	}
	return true, nil
}

// failed reports whether a test failed, ended its program, or had no end.
func failed(out []byte, name string) bool {
	for _, sign := range []string{"--- FAIL: " + name, "\npanic: ", "\n*** Test killed"} {
		if bytes.Contains(append([]byte("\n"), out...), []byte(sign)) {
			return true
		}
	}
	return false
}

// overlay returns the option by which the compiler of Go reads the changed text, from a folder.
func (m *mutant) overlay(work, text string) (options, env []string, err error) {
	changed, file := filepath.Join(work, filepath.Base(m.file)), filepath.Join(work, "overlay.json")
	here, err := filepath.Abs(m.file)
	if err != nil {
		return nil, nil, err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {here: changed}})
	if err == nil {
		err = os.WriteFile(changed, []byte(text), 0o644)
	}
	if err == nil {
		err = os.WriteFile(file, list, 0o644)
	}
	return []string{"-overlay", file}, nil, err
}

// softsai is the folder of the software switch, whose C the compiler of Go never reads.
const softsai = "sai-shim/softsai"

// library builds a copy of the software switch with the changed text, and returns the variable by which
// its tests take that.
func (m *mutant) library(work, text string) (options, env []string, err error) {
	for _, folder := range []string{softsai + "/src", softsai + "/testdata", "sai-shim/include"} {
		if err := os.CopyFS(filepath.Join(work, folder), os.DirFS(folder)); err != nil {
			return nil, nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(work, m.file), []byte(text), 0o644); err != nil {
		return nil, nil, err
	}
	makefile, err := filepath.Abs(softsai + "/Makefile")
	if err != nil {
		return nil, nil, err
	}
	built := filepath.Join(work, "built")
	out, err := exec.Command("make", "-s", "-C", filepath.Join(work, softsai), "-f", makefile,
		"OUT="+built, "WORK="+filepath.Join(work, "o"), "SANITIZE=1", "tests").CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("%s does not compile: %w\n%s", m.patch, err, out)
	}
	return nil, []string{"SOFTSAI_BUILT=" + built}, nil
}

// test runs tests of a package, with more options of go test and of the environment. A test that is
// skipped proves nothing: it is an error.
func test(folder, names string, options, env []string) ([]byte, error) {
	args := append([]string{"test", "-v", "-count=1", "-timeout=4m", "-run", "^(" + names + ")$"}, options...)
	cmd := exec.Command("go", append(args, folder)...)
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "SLUICE_MUTANT=1"), env...)
	out, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("no tests to run")) {
		return out, fmt.Errorf("%s has no test %s", folder, names)
	}
	if err == nil && bytes.Contains(out, []byte("\n--- SKIP: ")) {
		return out, fmt.Errorf("%s skips a test of %s: mutants are for a machine that runs all, as root", folder, names)
	}
	return out, err
}
