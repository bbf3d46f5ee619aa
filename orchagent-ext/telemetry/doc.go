// SPDX-License-Identifier: Apache-2.0

// Package telemetry turns what the orchestrator knows into rows of STATE_DB and
// COUNTERS_DB, as sonic-sluice-state.yang has them. The package itself is pure;
// package orch calls it and writes the rows. Package metrics below it reads rows from
// Redis and serves them over HTTP.
package telemetry
