// SPDX-License-Identifier: Apache-2.0

// Package statistics publishes the counters of ports and of their egress queues, and the states
// of their netdevs, each second. The loop gives it the switch and the ports with
// [Task.Reconcile].
//
// A library that takes 20 ms for a call has ten thousand queues. So statistics are read in a
// task of their own, call by call, each in a turn of the least priority (package gate).
package statistics
