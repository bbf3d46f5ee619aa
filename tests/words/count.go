// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// kind is a kind of word that is counted.
type kind int

const (
	what kind = iota
	tell
	negation
	relative
	kinds
)

var names = [kinds]string{what: "what", tell: "tell and say", negation: "negations", relative: "relative pronouns"}

// family has the words of each kind; a word that ends with n't is a negation too.
var family = map[string][]kind{
	"what": {what, relative}, "that": {relative}, "which": {relative}, "whose": {relative},
	"tell": {tell}, "tells": {tell}, "told": {tell}, "say": {tell}, "says": {tell}, "said": {tell},
	"no": {negation}, "not": {negation}, "none": {negation}, "nothing": {negation}, "nobody": {negation},
	"never": {negation}, "neither": {negation}, "nor": {negation}, "without": {negation},
}

// text is a kind of text that is counted by itself.
type text int

const (
	own      text = iota // comments of Go that are lines of their own, but of tests
	trailing             // comments of Go after code, but of tests
	inC                  // comments of C
	inTests              // comments of Go tests
	pages                // prose of the pages
	texts
)

var textNames = [texts]string{own: "comment lines", trailing: "trailing comments", inC: "comments of C", inTests: "comments of tests", pages: "pages"}

// unbounded is the bar of a kind of word that is counted and may be of any number.
const unbounded = 1000

// bars are the highest densities by kind, in words per 1000 words of a kind of text.
var bars = [texts][kinds]float64{
	own:      {3, 2, 15, unbounded},
	trailing: {3, 2, 18, unbounded},
	inC:      {3, 2, 18, unbounded},
	inTests:  {3, 2, 18, unbounded},
	pages:    {3, 2, 15, 18},
}

var (
	block     = regexp.MustCompile(`(?s)/\*(.*?)\*/`)
	fence     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	word      = regexp.MustCompile(`[a-z']+`)
	generated = regexp.MustCompile(`(?m)^(?://|/\*) Code generated .* DO NOT EDIT\.`)
)

// tally is the count of words of a text.
type tally struct {
	words int
	of    [kinds]int
}

// add counts the words of a comment or of prose. Directives and licenses count as zero words.
func (t *tally) add(text string) {
	if strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint") || strings.HasPrefix(text, " SPDX") {
		return
	}
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		t.words++
		for _, k := range family[w] {
			t.of[k]++
		}
		if strings.HasSuffix(w, "n't") {
			t.of[negation]++
		}
	}
}

// sum adds the count of another text.
func (t *tally) sum(other tally) {
	t.words += other.words
	for k := range kinds {
		t.of[k] += other.of[k]
	}
}

// density is the number of words of a kind per 1000 words, 0 for a text that has one
// such word or fewer: a short package may use each word once.
func (t tally) density(k kind) float64 {
	if t.of[k] <= 1 {
		return 0
	}
	return 1000 * float64(t.of[k]) / float64(t.words)
}

// countFile returns the words of a file by kind of text. Generated files count as zero words.
func countFile(name, source string) (is [texts]tally) {
	if generated.MatchString(source) {
		return is
	}
	switch {
	case strings.HasSuffix(name, "_test.go"):
		goComments(source, &is[inTests], &is[inTests])
	case strings.HasSuffix(name, ".go"):
		goComments(source, &is[own], &is[trailing])
	case strings.HasSuffix(name, ".c"), strings.HasSuffix(name, ".h"):
		for _, found := range block.FindAllStringSubmatch(source, -1) {
			is[inC].add(found[1])
		}
	case strings.HasSuffix(name, ".md"):
		is[pages].add(fence.ReplaceAllString(source, ""))
	}
	return is
}

// goComments counts the comments of Go source: those on lines of their own, and those after code.
func goComments(source string, lines, trailing *tally) {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), func(token.Position, string) {}, scanner.ScanComments)
	code := 0 // line on which the last token of code ends
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return
		case tok == token.SEMICOLON && text == "\n":
		case tok != token.COMMENT:
			code = file.Line(pos) + strings.Count(text, "\n")
		case file.Line(pos) == code:
			trailing.add(strings.TrimPrefix(text, "//"))
		default:
			lines.add(strings.TrimPrefix(text, "//"))
		}
	}
}
