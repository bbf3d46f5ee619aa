// SPDX-License-Identifier: Apache-2.0

// Package watch estimates which flows fill the egress queues of a switch that watches no single
// flow, and raises the events that package flowcontrol expects of one that does (method sampled).
//
// [Flows] reads the depth of the queues in a goroutine of its own, and takes samples from the
// packet path. Both go over bounded channels to the thread of flow control, which owns the
// estimates (package sampled): locks are elsewhere. Holds and messages belong to package flowcontrol.
package watch
