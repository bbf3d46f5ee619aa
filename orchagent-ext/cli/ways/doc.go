// SPDX-License-Identifier: Apache-2.0

// Package ways computes how ECMP spreads the flows of a capture over paths, by each way to
// choose them: by the 5-tuple, by labels that packets have, that Sluice computes or chooses, and
// by rules to next hops. The commands balance and doctor show the result.
//
// It is pure: packets and their flows go in, loads come out. A [Table] belongs to one goroutine.
package ways
