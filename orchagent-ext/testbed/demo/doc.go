// SPDX-License-Identifier: Apache-2.0

// Package demo shows the effect of Sluice on the traffic of a fabric on one
// machine, in place of a switch.
//
// It builds host A – leaf == 4 uplinks == spine – host B of network namespaces,
// starts a private Redis and sluiced in the leaf's namespace, sends the same
// traffic before and after the row that enables flow labels, and reads the load
// of each uplink off the interface's own counters. Packets that arrive at host B
// are compared with those that were sent and with the labels of package flow.
//
// Host A sends the traffic of a leaf's uplinks: the packets of 64 queue pairs
// from one host to another, and every packet of the real captures, both
// directions alike.
//
// All parts are real: sluiced and the switch library are given by path, and are
// those that run elsewhere. Namespaces and processes end with the demo.
package demo
