// SPDX-License-Identifier: Apache-2.0

// Package techsupport gathers the data that remote support needs about a Sluice:
// [Collect] looks at the databases and at the machine, and makes a [Report], which is
// written as text, as JSON or as an archive of files. Command techsupport of the sluice
// tool calls it.
//
// It reads only. A part that fails has its error in the report, and the others go on.
// Time and octets of a report are bounded, and values that look like secrets are masked
// in every part: see [Masked].
package techsupport
