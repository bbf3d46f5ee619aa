// SPDX-License-Identifier: Apache-2.0

// Package config turns rows of CONFIG_DB into one immutable [Snapshot] after the other:
// the operator's valid settings, with every default filled in.
//
// It judges row by row. An invalid row is rejected whole: its last good version stays in
// force, and the snapshot lists the rejection with table, key, field, value and reason. A
// row whose port or threshold is gone is out of force until it is back.
//
// The daemon feeds a [State] with the changes of [Tables] that sonicdb's Watch reports,
// and acts on the snapshots. The package is pure: Redis and clock are its caller's.
package config
