// SPDX-License-Identifier: Apache-2.0

// Package frame has the state of a fabric at one time, a [Frame]: the rows of its switches.
// A [Source] is a series of them: live, kept in memory, of a file, of Prometheus, or simulated.
// What shows a frame works on each.
//
// The package is pure. Frames and rows are shared: they stay as they were made.
package frame
