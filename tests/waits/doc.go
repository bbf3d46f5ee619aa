// SPDX-License-Identifier: Apache-2.0

// Package waits holds tests to events, counts and virtual time: it reads every _test.go file of
// the tree, and fails for a sleep, a judged duration and a short deadline of the machine's clock
// that testdata/allowed.txt does not name with its reason. Measures by the clock belong to
// tests/bench and tests/rough. It has tests only.
package waits
