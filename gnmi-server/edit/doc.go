// SPDX-License-Identifier: Apache-2.0

// Package edit computes the configuration after a gNMI Set: operations and rows in,
// changed rows out, judged as a whole (gNMI specification section 3.4). It is pure: its
// caller reads and writes.
//
// Connections to databases and clients belong to package server.
package edit
