// SPDX-License-Identifier: Apache-2.0

// Package show makes of rows of the databases what `sluice show` prints: one [Verb] for
// each of its commands, with the tables that it reads. Counters and fields come from the
// model, by package rows.
//
// It is pure: it reads no database and no clock. What is not known is left out or shown as
// -, never as 0.
package show
