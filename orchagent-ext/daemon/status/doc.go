// SPDX-License-Identifier: Apache-2.0

// Package status is the state of sluiced as STATE_DB has it: the parts of the daemon add
// to a [Report], and an [Encoder] makes rows of the state model.
package status
