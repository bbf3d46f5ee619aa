// SPDX-License-Identifier: Apache-2.0

// Package techsupport gathers what an engineer far away needs to understand a
// Sluice: [Collect] looks at the databases and at the machine, and makes a
// [Report], which is written as text, as JSON or as an archive of files. Command
// techsupport of the sluice tool calls it.
//
// It reads only. A part that fails says why, and the others go on. What a report
// takes in time and octets is bounded, and what looks like a secret is masked in
// every part: see [Masked].
package techsupport
