// SPDX-License-Identifier: Apache-2.0

// Package chart draws groups of bars on one common scale, to compare
// distributions with each other: as text for a terminal ([Text]) and as a
// standalone SVG ([SVG]). [Timelines] and [Figure] draw courses over time and curves in axes, by the
// same elements. It is pure: the output depends on the arguments alone;
// the caller counts and formats values.
package chart
