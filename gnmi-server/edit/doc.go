// SPDX-License-Identifier: Apache-2.0

// Package edit computes what a gNMI Set makes of the configuration: operations
// and rows in, changed rows out, judged as a whole (gNMI specification section
// 3.4). It is pure: nothing is read or written here.
//
// Package server calls it. It knows no database connection and no client.
package edit
