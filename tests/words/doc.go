// SPDX-License-Identifier: Apache-2.0

// Command words counts words that make a text hard to read when they are many: in comments of
// Go, of C and of tests, and on the pages. count.go lists the kinds of words and their bars, in
// words per 1000 words. Comment lines of Go are judged for each package, other texts as a
// whole. exceptions.txt lists the texts that are above a bar: their densities only shrink. The
// command ends with 1 if a text is above its bar and its exception.
package main
