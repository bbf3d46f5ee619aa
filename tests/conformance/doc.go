// SPDX-License-Identifier: Apache-2.0

// Command conformance writes docs/conformance/draft-*.md: for each requirement of
// the five drafts where it is implemented, whether the daemon does it, and which
// test shows it. `go generate` runs it here.
//
// The requirements are in draft-*.txt beside this file, a line each: its name, the
// section, the draft's key word, the requirement in other words than the draft's, and a
// remark, or the reason why it is left out. Marks in the code name the symbols that
// implement and test it,
//
//	//conformance:draft-yang/hop-limit draft-yang/subtype
//
// in the comment of a function, type or variable, and in C
//
//	/* conformance: draft-hu/input */
//
// above a function. A requirement is live when sluiced or libsoftsai.so has the code, the
// symbols that the head of the file names under "acts" are used in sluiced, and a test that
// make test runs shows it on the whole program, and the mutants of the requirement are killed (tests/mutants);
// with tests of its parts alone, or a mutant that survives, it is in parts.
// The last is checked by running: a marked test of tests/e2e fails unless it ran sluiced and
// read frames from a wire, and all of them fail unless each marked one has run.
//
// The tests beside it fail when a mark names an unknown requirement, when a requirement
// lacks both a mark in code and a reason, or lacks a test, and when a page is out of
// date.
package main

//go:generate go run .
