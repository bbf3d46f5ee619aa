// SPDX-License-Identifier: Apache-2.0

// Package asic decides what stands on the switch for a policy, and brings it
// there through a driver.
//
// What decides is pure: the methods choose the means ([Methods]), a driver says
// which objects a policy takes, [Compare] which of them are to be created and
// removed. The [Engine] acts: it carries the steps out, steps down a method where
// the switch refuses, and keeps a ledger of all that it created, so that the
// next process adopts or removes it and nothing is ever leaked.
//
// Package orch calls it, from one goroutine. It never reads Redis and never
// touches a packet.
package asic
