// SPDX-License-Identifier: Apache-2.0

// Package scenario reads the operator's file of a simulation, and runs each load with each
// feature, several at a time. A run is package run's; reports are those of package report.
package scenario
