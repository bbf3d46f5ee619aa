// SPDX-License-Identifier: Apache-2.0

// Package flowcontrol is the flow-control task: on an event of the switch that a flow
// fills a queue it asks the upstream neighbor to hold the flow (PFCM of draft-yang), and
// it holds flows on the switch when a downstream neighbor asks.
//
// The daemon runs one [Task], which ends before the switch is closed. Its decisions are
// in one thread without locks, timers or allocations. [Task.Configure] passes it an immutable
// configuration, and [Task.Report] reads its state.
//
// The thread passes each input to one of the machines: an event to package detector, which signals to
// downstream, gateway and advisor; a message to upstream or gateway, which pass its demand to holder; a
// packet to advisor and source. Each machine is a package, since its state is its own: the compiler keeps
// others to its few methods. Machines that are called back (holder, border) are seen through interfaces
// with the methods that the caller needs. State of one flow is a value of the machine's package (such as
// downstream.Request) that detector keeps beside the flow, so that no machine has a table of flows
// besides.
//
// Holds are apart from the objects of plan and ledger: they are in the switch alone,
// which ends them by itself.
package flowcontrol
