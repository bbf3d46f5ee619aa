// SPDX-License-Identifier: Apache-2.0

// Package redirect places flows on ASICs as they are today, IPv4 and IPv6: a large flow gets
// a rule that sends it to a chosen next hop, and all others stay where the switch's hash sends
// them. A [Table] is one group of next hops. It observes the rates and the members of flows
// from samples, whose shares decay, and decides which rules there are to be.
//
// A table is for one goroutine, and its caller carries its decisions out. The table is pure: it reads the time from its arguments, and changes only its own state.
package redirect
