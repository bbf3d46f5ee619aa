// SPDX-License-Identifier: Apache-2.0

// Package heap is the heap of the simulator: elements that are numbered, in order of their keys.
//
// Package network has two: the events of its links, by time, and its timers. A link has one event at
// most, so that the heap is as long as the network is large, however many packets are in flight.
// Package fluid has the links in one, by the rate at which they are full. Elements that know their
// place, by time, are in heaps of package clock.
package heap
