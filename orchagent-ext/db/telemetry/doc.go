// SPDX-License-Identifier: Apache-2.0

// Package telemetry names the tables of STATE_DB and COUNTERS_DB and their rows, which
// are the structs of the state model (sonic-sluice-state.yang); package yang/rows encodes
// them. The daemon fills them in and writes them. The package is pure.
//
// Package metrics below it reads rows from Redis and serves them over HTTP.
package telemetry
