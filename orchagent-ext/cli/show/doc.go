// SPDX-License-Identifier: Apache-2.0

// Package show turns rows of the databases into the output of `sluice show`: one [Verb]
// for each of its commands, with the tables that it reads. Counters and fields come from
// the model, by package rows.
//
// It is pure: rows and time are given. An unknown value is left out or shown as -, to
// distinguish it from 0.
package show
