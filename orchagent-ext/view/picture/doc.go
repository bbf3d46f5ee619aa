// SPDX-License-Identifier: Apache-2.0

// Package picture computes the parts of the page of a fabric: uplinks and how even they are, links,
// queues and the flows in them, holds by who asked whom, Rate Advice, moves, and health. [Of] is
// pure: two frames in, a picture out. The room view/server sends it as JSON.
//
// Texts in a picture are printable and short. Values are those that sluice show prints for the
// same rows; rates are differences of counters between the two frames. A value that the rows do
// not have is absent.
package picture
