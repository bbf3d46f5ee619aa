// SPDX-License-Identifier: Apache-2.0

// Package drift decides about parts of a switch that other programs took away or changed: which
// are put back now, which wait, and of which the operator is warned. It is pure: the time and the
// findings of an audit are given. Package audit calls it; it never touches a switch.
package drift
