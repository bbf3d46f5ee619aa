// SPDX-License-Identifier: Apache-2.0

// Package nexthops reads from the Linux kernel, by netlink, the group of next hops by
// which it forwards to a destination: members, weights, which are dead, and the buckets
// of a resilient group; and from its sysctls the hash. Together they are a model of
// package ecmp.
//
// A switch that is not the kernel may have its members in another order: [InSwitchOrder]
// brings a group to what SONiC's orchagent has programmed, of rows that are given.
//
// Package placer calls it, and package loop. It changes nothing in the kernel, and decides
// nothing. It reads the network namespace of the calling thread.
package nexthops
