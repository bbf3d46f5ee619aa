// SPDX-License-Identifier: Apache-2.0

// Package event has the queue of a simulation's events, in order of time.
//
// An event belongs to an entity, such as a link, and each entity has at most one. So the
// queue is as long as the network is large, however many packets are in flight. It never
// runs events, and has no clock: package network does that.
package event
