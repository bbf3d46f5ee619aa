// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// debts are the densities that packages above a bar may have, by folder; 0: the bar.
type debts map[string][kinds]float64

// parseDebts reads lines "folder what tell negation"; # begins a comment.
func parseDebts(r io.Reader) (debts, error) {
	all := debts{}
	for lines := bufio.NewScanner(r); ; {
		if !lines.Scan() {
			return all, lines.Err()
		}
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var folder string
		var most [kinds]float64
		if _, err := fmt.Sscan(line, &folder, &most[what], &most[tell], &most[negation]); err != nil {
			return nil, fmt.Errorf("parse row %q, which should be a folder and three numbers: %w", line, err)
		}
		all[folder] = most
	}
}

// String is the text that parseDebts reads, in the order of folders.
func (d debts) String() string {
	var b strings.Builder
	b.WriteString("# Packages whose comments are above a bar, with the densities that they may have: what,\n" +
		"# tell and say, negations; 0 is the bar. Written by `go run ./tests/words -update`, which\n" +
		"# only lowers.\n")
	for _, folder := range slices.Sorted(maps.Keys(d)) {
		most := d[folder]
		fmt.Fprintf(&b, "%s %g %g %g\n", folder, most[what], most[tell], most[negation])
	}
	return b.String()
}

// slack is how far a density may pass its debt, per 1000 words: one new sentence in a small
// package moves it by some tenths.
const slack = 0.5

// check returns a line for each kind of word of which a package has more than it may
// have, in the order of folders.
func (d debts) check(packages map[string]tally) (excess []string) {
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		for k := range kinds {
			if is, most := packages[folder].density(k), max(bars[k], d[folder][k]+slack); is > most {
				excess = append(excess, fmt.Sprintf("%s: %s: %.1f per 1000 words of comments, at most %g are allowed", folder, names[k], is, most))
			}
		}
	}
	return excess
}

// shrink returns the debts lowered to the densities of today: those that are higher keep
// their value, those at the bar or below it go.
func (d debts) shrink(packages map[string]tally) debts {
	left := debts{}
	for folder, most := range d {
		for k := range kinds {
			is := packages[folder].density(k)
			if most[k] = min(most[k], math.Ceil(10*is)/10); is <= bars[k] {
				most[k] = 0
			}
		}
		if most != [kinds]float64{} {
			left[folder] = most
		}
	}
	return left
}
