// SPDX-License-Identifier: Apache-2.0

// Package trace follows a flow from switch to switch: each switch publishes the port by
// which the flow leaves and the neighbor there, which is read next. It is pure but for
// the function that reads a switch, which is given.
package trace
