// SPDX-License-Identifier: Apache-2.0

// Package flowcontrol is the flow-control task: on an event of the switch that a flow
// fills a queue it asks the upstream neighbor to hold the flow (PFCM of draft-yang), and
// it holds flows on the switch when a downstream neighbor asks.
//
// The daemon runs one [Task], which ends before the switch is closed. Its decisions are
// in one thread without locks, timers or allocations: a state machine (core) that is
// given events, messages and the time, and calls the switch and the sockets through two
// small interfaces. [Task.Configure] passes it an immutable configuration, and
// [Task.Report] reads its state.
//
// Holds are apart from the objects of plan and ledger: they are in the switch alone,
// which ends them by itself.
package flowcontrol
