// SPDX-License-Identifier: Apache-2.0

// Package engine decides which objects a policy needs on the switch, and programs them
// through a driver (driver.go has the contract). The deciding part is pure: [Choose]
// takes a method for each need, [Objects] returns the objects of a policy, [Compare]
// returns which objects to create, change and remove. The [Engine] acts, by parts that have
// the state and know nothing of it:
//
//   - offers (offers.go): what the switch reported, and what it refused since;
//   - the programmer (programmer.go): the objects on the switch, one change at a time, with
//     the backlog of the ledger (ledger.go), so that the next process adopts (adopt.go) or
//     removes every object;
//   - flowEntries (flows.go, relabel.go): the flows with entries;
//   - a round (round.go): one attempt at a policy, and what it went without;
//   - a proof (prove.go): which methods are in force, by reading back.
//
// Where the switch refuses, the engine drops optional objects or takes the next method, and
// tries again later (again.go).
//
// The drivers import the package: switch/saidriver calls a SAI library, switch/orchagent
// writes rows. An engine is for one goroutine.
package engine
