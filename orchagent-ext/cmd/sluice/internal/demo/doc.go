// SPDX-License-Identifier: Apache-2.0

// Package demo shows on one machine, without a switch, what Sluice does to the
// traffic of a fabric. Command demo of the sluice tool calls it.
//
// It builds host A – leaf == 4 uplinks == spine – host B of network namespaces,
// starts a private Redis and sluiced in the leaf's namespace, sends the same
// traffic before and after the row that enables flow labels, and reads the load of
// each uplink off the interface's own counters. What arrives at host B is compared
// with what was sent and with the labels of package flow.
//
// Host A sends what a leaf's uplinks carry: the packets of 64 queue pairs from one
// host to another, and every packet of the real captures, both directions alike.
//
// It fakes nothing: sluiced and the switch library are given by path, and are
// those that run elsewhere. It leaves no namespace and no process behind.
package demo
