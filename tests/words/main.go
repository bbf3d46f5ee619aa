// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
)

// list is the file of debts, from the root of the source.
const list = "tests/words/debts.txt"

func main() {
	update := flag.Bool("update", false, "lower the densities of "+list+" to those of today")
	flag.Parse()
	if err := run(*update); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks the tracked Go files below the folder in which it runs, the root of the
// source; with update it first lowers the list of debts.
func run(update bool) error {
	packages, err := count()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	d, err := parseDebts(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	if update {
		d = d.shrink(packages)
		if err := os.WriteFile(list, []byte(d.String()), 0o644); err != nil { //nolint:gosec // a file of the source
			return err
		}
	}
	if excess := d.check(packages); len(excess) > 0 {
		return fmt.Errorf("%s\nwrite what a function returns or does", strings.Join(excess, "\n"))
	}
	return nil
}

// count returns the tally of each folder of tracked Go files but tests.
func count() (map[string]tally, error) {
	out, err := exec.Command("git", "ls-files", "-z", "--", "*.go", ":!*_test.go", ":!*/testdata/*").Output()
	if err != nil {
		return nil, fmt.Errorf("list tracked files: %w", err)
	}
	packages := map[string]tally{}
	for file := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		source, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // removed, and the removal is not committed yet
		} else if err != nil {
			return nil, err
		}
		t := packages[path.Dir(file)]
		t.add(string(source))
		packages[path.Dir(file)] = t
	}
	return packages, nil
}
