// SPDX-License-Identifier: Apache-2.0

// Command conformance writes docs/conformance/draft-*.md: for each requirement of
// the five drafts where it is implemented, whether the daemon does it, and which
// test shows it. `go generate` runs it here.
//
// The requirements are in draft-*.txt beside this file, a line each: its name, the
// section, the draft's key word, what is required in other words than the draft's,
// and what is to be known, or why it is not implemented. Where it is implemented
// and tested say marks in the code,
//
//	//conformance:draft-yang/hop-limit draft-yang/subtype
//
// in the comment of a function, type or variable, and in C
//
//	/* conformance: draft-hu/input */
//
// above a function. A requirement is live when sluiced or libsoftsai.so has the
// code, and what the head of the file names under "acts" is used in sluiced.
//
// The tests beside it fail when a mark names no requirement, when a requirement has
// no mark in code and no reason, or none in a test, and when a page is out of date.
package main

//go:generate go run .
