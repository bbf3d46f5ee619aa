// SPDX-License-Identifier: Apache-2.0

// Package engine decides which objects a policy needs on the switch, and programs them
// through a driver (driver.go has the contract). The deciding part is pure: [Choose]
// takes a method for each need, [Objects] returns the objects of a policy, [Compare]
// returns which objects to create, change and remove. The [Engine] acts: it carries the
// steps out, drops optional objects that the switch refuses or takes the next method
// (refuse.go), reads back the result (prove.go), and keeps a ledger of all that it
// created, so that the next process adopts or removes every object.
//
// The drivers import the package: switch/saidriver calls a SAI library, switch/orchagent
// writes rows. An engine is for one goroutine.
package engine
