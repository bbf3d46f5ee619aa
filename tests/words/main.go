// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// exceptions are the densities above their bars that are allowed for now. Each line has a
// density, a kind of text and a kind of word, with ": " between the last two.
//
//go:embed exceptions.txt
var exceptions string

// main checks the tracked files below the folder in which it runs, the root of the source.
func main() {
	allowed, err := parseExceptions(exceptions)
	if err == nil {
		err = run(allowed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(allowed map[string]float64) error {
	packages, whole, err := count()
	if err != nil {
		return err
	}
	if excess := append(check(packages), checkWhole(whole, allowed)...); len(excess) > 0 {
		return fmt.Errorf("%s\nwrite what a function returns or does, in short sentences", strings.Join(excess, "\n"))
	}
	return nil
}

// parseExceptions returns the densities of a list, by kind of text and of word.
func parseExceptions(list string) (map[string]float64, error) {
	allowed := map[string]float64{}
	for row := range strings.Lines(list) {
		if row = strings.TrimSpace(row); row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		density, name, _ := strings.Cut(row, " ")
		var d float64
		if _, err := fmt.Sscan(density, &d); err != nil {
			return nil, fmt.Errorf("exceptions.txt: %q: DENSITY TEXT: WORDS: %w", row, err)
		}
		allowed[name] = d
	}
	return allowed, nil
}

// check returns a line for each kind of word of which the comment lines of a package have more
// than the bar, in the order of folders.
func check(packages map[string]tally) (excess []string) {
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		for k := range kinds {
			if is := packages[folder].density(k); is > bars[own][k] {
				excess = append(excess, fmt.Sprintf("%s: %s: %.1f per 1000 words of comments, at most %g are allowed", folder, names[k], is, bars[own][k]))
			}
		}
	}
	return excess
}

// checkWhole returns a line for each kind of word of which a kind of text has more than the bar
// and its exception allow, and for each exception that is no longer needed, or is a whole word
// per 1000 above what is there.
func checkWhole(whole [texts]tally, allowed map[string]float64) (excess []string) {
	for t := trailing; t < texts; t++ {
		for k := range kinds {
			name := textNames[t] + ": " + names[k]
			is, bar, most := whole[t].density(k), bars[t][k], allowed[name]
			switch {
			case most > 0 && is <= bar:
				excess = append(excess, fmt.Sprintf("%s: %.1f per 1000 words, and %g are allowed: remove the line from exceptions.txt", name, is, bar))
			case is > max(bar, most):
				excess = append(excess, fmt.Sprintf("%s: %.2f per 1000 words, at most %g are allowed", name, is, max(bar, most)))
			case most > 0 && is < most-1:
				excess = append(excess, fmt.Sprintf("%s: %.1f per 1000 words, and exceptions.txt allows %g: lower it", name, is, most))
			}
		}
	}
	return excess
}

// count returns the tally of the comment lines of each package, and of each kind of text.
func count() (packages map[string]tally, whole [texts]tally, err error) {
	out, err := exec.Command("git", "ls-files", "-z", "--", "*.go", "*.c", "*.h", "docs/*.md", "README.md", "CONTRIBUTING.md", ":!*/testdata/*").Output()
	if err != nil {
		return nil, whole, fmt.Errorf("list tracked files: %w", err)
	}
	packages = map[string]tally{}
	for file := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		source, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // removed, and the removal is not committed yet
		} else if err != nil {
			return nil, whole, err
		}
		of := countFile(file, string(source))
		for t := range texts {
			whole[t].sum(of[t])
		}
		sum := packages[path.Dir(file)]
		sum.sum(of[own])
		packages[path.Dir(file)] = sum
	}
	return packages, whole, nil
}
