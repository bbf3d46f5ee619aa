// SPDX-License-Identifier: Apache-2.0

// Command bench runs the benchmarks that have a bar or whose figure is worth
// reporting, and writes the figures as they are: a table on stdout, and
// report.json for machines. `make bench` calls it from the root of the module.
//
// Each figure is the median of several runs, with the spread beside it. A bar that is
// missed is marked, without an error: machines are noisy, and the figure counts. Errors
// are a benchmark that failed, or one of the table in bars.go that is missing. Earlier
// reports are ignored.
//
// With -against it measures another tree and this one in turns, and compares each figure that both
// have: a row fails where the 95 % interval of its pairs lies beyond 5 %. With -page it writes the page
// of the report, docs/performance.md. With -only PART it measures the packages whose names have that part, and
// leaves the other figures of the report as they are.
package main
