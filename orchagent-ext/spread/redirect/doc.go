// SPDX-License-Identifier: Apache-2.0

// Package redirect places flows on ASICs as they are today, IPv4 and IPv6: a large flow gets
// a rule that sends it to a chosen next hop, and all others stay where the switch's hash sends
// them.
//
// A [Table] is one group of next hops. It observes the rates and the members of flows from
// samples, whose shares decay, and decides which rules there are to be. It is pure: it reads the
// time from its arguments, and changes only its own state. The simulator has tables alone.
//
// A [Redirector] carries the decisions out: it has a table for each group, feeds it samples and
// the group as the kernel has it, and brings the rules to the switch. Rules of a link that goes
// down are removed before anything else. It reads the network by [Network] and changes rules by
// [Switch]; the clock is given.
//
// Both are for one goroutine. The package knows no driver: package placement of the daemon has the
// switch.
package redirect
