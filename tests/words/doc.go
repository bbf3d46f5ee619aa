// SPDX-License-Identifier: Apache-2.0

// Command words counts, in the Go comments of each package, three kinds of words that make
// a comment hard to read when they are many. count.go lists the kinds and their bars, in
// words per 1000 words of comments. The command ends with 1 if a package is above a bar.
package main
