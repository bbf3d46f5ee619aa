// SPDX-License-Identifier: Apache-2.0

// Package config turns rows of CONFIG_DB into one immutable [Snapshot] after the
// other: what the operator wants, valid, with every default filled in.
//
// It judges row by row. A row that is not valid changes nothing: the last good
// one of that row stays in force, and the snapshot lists the rejection with
// table, key, field, value and reason. A row whose port or threshold is gone is
// not in force until it is back.
//
// The daemon feeds a [State] with what sonicdb's Watch reports of [Tables], and
// hands the snapshots to package loop. The package knows no Redis and no clock,
// and does nothing.
package config
