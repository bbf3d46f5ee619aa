// SPDX-License-Identifier: Apache-2.0

// Package flowcontrol is the fast lane: it hears from the switch that a flow fills a
// queue and asks the upstream neighbor to hold it (PFCM of draft-yang), and it holds
// flows on the switch when a downstream neighbor asks.
//
// Package loop runs one [Task], which ends before the switch is closed. Its decisions
// are in one thread without locks, timers or allocations: a state machine (core) that
// is given events, messages and the time, and calls the switch and the sockets through
// two small interfaces. [Task.Configure] gives it an immutable configuration, and
// [Task.Report] reads what it does.
//
// Holds are no objects: nothing of them is planned, recorded, or read back from Redis,
// and the switch ends them by itself.
package flowcontrol
