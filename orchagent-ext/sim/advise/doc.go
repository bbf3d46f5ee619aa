// SPDX-License-Identifier: Apache-2.0

// Package advise proposes marks, durations, a target and a buffer for a fabric, with the reason
// of each, and what it costs where the round trip is four times as long as assumed, or a
// quarter. It is pure arithmetic on the delays of package scenario's fabric.
package advise
