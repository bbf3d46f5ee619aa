// SPDX-License-Identifier: Apache-2.0

// Package asic decides which objects a policy needs on the switch, and programs them
// through a driver. The deciding part is pure: [Methods] chooses a method for each
// need, a driver returns the objects of a policy, [Compare] returns which objects to
// create, change and remove. The [Engine] acts: it carries the steps out, takes the
// next method where the switch refuses, and keeps a ledger of all that it created, so
// that the next process adopts or removes it and no object is leaked.
//
// The driver that calls a SAI library ([SAI]) is here; the one that writes rows for
// SONiC's orchagent, and so uses Redis, is package orchagent below. Package orch calls
// the engine, from one goroutine.
package asic
