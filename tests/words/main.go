// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// main checks the tracked Go files below the folder in which it runs, the root of the source.
func main() {
	packages, err := count()
	if excess := check(packages); err == nil && len(excess) > 0 {
		err = fmt.Errorf("%s\nwrite what a function returns or does", strings.Join(excess, "\n"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns a line for each kind of word of which a package has more than the bar, in the
// order of folders.
func check(packages map[string]tally) (excess []string) {
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		for k := range kinds {
			if is := packages[folder].density(k); is > bars[k] {
				excess = append(excess, fmt.Sprintf("%s: %s: %.1f per 1000 words of comments, at most %g are allowed", folder, names[k], is, bars[k]))
			}
		}
	}
	return excess
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
