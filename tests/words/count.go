// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

// kind is a kind of word that is counted.
type kind int

const (
	what kind = iota
	tell
	negation
	kinds
)

// bars are the highest densities by kind, in words per 1000 words of comments.
var bars = [kinds]float64{what: 3, tell: 2, negation: 15}

var names = [kinds]string{what: "what", tell: "tell and say", negation: "negations"}

// family has the words of each kind; a word that ends with n't is a negation too.
var family = map[string]kind{
	"what": what,
	"tell": tell, "tells": tell, "told": tell, "say": tell, "says": tell, "said": tell,
	"no": negation, "not": negation, "none": negation, "nothing": negation, "nobody": negation,
	"never": negation, "neither": negation, "nor": negation, "without": negation,
}

var (
	comment   = regexp.MustCompile(`(?m)^[\t ]*//(.*)$`)
	word      = regexp.MustCompile(`[a-z']+`)
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// tally is the count of words of a package's comments.
type tally struct {
	words int
	of    [kinds]int
}

// add counts the comments of a Go file that are lines of their own. Directives, licenses
// and generated files count as zero words.
func (t *tally) add(source string) {
	if generated.MatchString(source) {
		return
	}
	for _, line := range comment.FindAllStringSubmatch(source, -1) {
		text := line[1]
		if strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint") || strings.HasPrefix(text, " SPDX") {
			continue
		}
		for _, w := range word.FindAllString(strings.ToLower(text), -1) {
			t.words++
			if k, counted := family[w]; counted {
				t.of[k]++
			} else if strings.HasSuffix(w, "n't") {
				t.of[negation]++
			}
		}
	}
}

// density is the number of words of a kind per 1000 words, 0 for a package that has one
// such word or fewer: a short package may use each word once.
func (t tally) density(k kind) float64 {
	if t.of[k] <= 1 {
		return 0
	}
	return 1000 * float64(t.of[k]) / float64(t.words)
}
