// SPDX-License-Identifier: Apache-2.0

// Package truth compares the simulator with results that do not come from it: closed forms of
// queueing and probability theory, and figures that sluiced gave in network namespaces, as the
// pages of this project have them. `make sim` writes all of them into its report.
package truth
