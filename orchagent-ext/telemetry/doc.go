// SPDX-License-Identifier: Apache-2.0

// Package telemetry turns what the orchestrator knows into rows of STATE_DB and
// COUNTERS_DB, as sonic-sluice-state.yang has them. It is pure: package orch
// calls it and writes the rows.
package telemetry
