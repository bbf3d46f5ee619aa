// SPDX-License-Identifier: Apache-2.0

// Package asic decides which objects a policy needs on the switch, and programs them
// through a driver (driver.go has the contract). The deciding part is pure: [Choose]
// takes a method for each need, [Driver].Objects returns the objects of a policy,
// [Compare] returns which objects to create, change and remove. The [Engine] acts: it
// carries the steps out, does without what the switch refuses, or takes the next method
// (refuse.go), reads back what it took (prove.go), and keeps a ledger of all that it
// created, so that the next process adopts or removes it and no object is leaked. Marks and
// holds of single flows are no objects of the engine: package flowcontrol sets them.
//
// The driver that calls a SAI library ([SAI]) is here, made of the attributes of package
// saiattr; the one that writes rows for SONiC's orchagent, and so uses Redis, is package
// orchagent below. Package orch calls the engine, from one goroutine; sluiced's dry run
// calls the deciding part.
package asic
