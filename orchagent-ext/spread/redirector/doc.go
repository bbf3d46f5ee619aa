// SPDX-License-Identifier: Apache-2.0

// Package redirector carries out placement by rules to next hops: it has a table of package
// redirect for each group of next hops, feeds it samples and the group as the kernel has it,
// and brings the rules that the tables decide to the switch.
//
// It is for one goroutine. Rules of a link that goes down are removed before anything else. It reads the network by [Network] and changes rules by [Switch]; the clock is
// given.
package redirector
