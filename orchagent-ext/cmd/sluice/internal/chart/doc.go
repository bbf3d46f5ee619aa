// SPDX-License-Identifier: Apache-2.0

// Package chart draws groups of bars on one common scale, to compare distributions
// with each other: as text for a terminal ([Text]) and as a standalone SVG ([SVG]).
// Command balance of the sluice tool calls it. It is pure: what to write comes in,
// what is written depends on nothing else; it neither counts nor formats values.
package chart
