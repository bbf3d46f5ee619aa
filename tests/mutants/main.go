// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
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
	turns := make(chan struct{}, jobs)
	for i := range all {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			m := &all[i]
			o := &r.Mutants[i]
			*o = outcome{Row: m.row, Patch: m.patch, Test: m.folder + " " + m.test}
			o.Killed, errs[i] = m.kill(filepath.Join(work, fmt.Sprint(i)))
			fmt.Printf("%-8s %s (%s)\n", map[bool]string{true: "killed", false: "SURVIVES"}[o.Killed], m.patch, m.test)
		})
	}
	group.Wait()
	survivors := []string{}
	for i := range all {
		if errs[i] != nil {
			return errs[i]
		}
		if r.Mutants[i].Killed {
			r.Killed++
		} else {
			survivors = append(survivors, all[i].row)
		}
	}
	fmt.Printf("%d of %d mutants killed\n", r.Killed, r.Total)
	if only != "" {
		return nil
	}
	return r.write(survivors)
}

// write writes the report, and compares the survivors with those of the tree.
func (r *report) write(survivors []string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.MkdirAll("build/mutants", 0o755)
	}
	if err == nil {
		err = os.WriteFile("build/mutants/report.json", append(text, '\n'), 0o644)
	}
	if err != nil {
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
		out, err := test(folder, strings.Join(names, "|"), "")
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
	changed, overlay := filepath.Join(work, filepath.Base(m.file)), filepath.Join(work, "overlay.json")
	here, err := filepath.Abs(m.file)
	if err != nil {
		return false, err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {here: changed}})
	if err == nil {
		err = os.WriteFile(changed, []byte(text), 0o644)
	}
	if err == nil {
		err = os.WriteFile(overlay, list, 0o644)
	}
	if err != nil {
		return false, err
	}
	out, err := test(m.folder, m.test, overlay)
	if err == nil {
		return false, nil
	}
	if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
		return false, fmt.Errorf("%s does not compile:\n%s", m.patch, out)
	}
	return true, nil
}

// test runs tests of a package, with an overlay of the compiler or without ("").
func test(folder, names, overlay string) ([]byte, error) {
	args := []string{"test", "-count=1", "-timeout=4m", "-run", "^(" + names + ")$"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, folder)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("no tests to run")) {
		return out, fmt.Errorf("%s has no test %s", folder, names)
	}
	return out, err
}
