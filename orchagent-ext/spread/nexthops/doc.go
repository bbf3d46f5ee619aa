// SPDX-License-Identifier: Apache-2.0

// Package nexthops reads from the Linux kernel, by netlink, the group of next hops by
// which it forwards to a destination: members, weights, which are dead, and the buckets
// of a resilient group; and from its sysctls the hash. Together they are a model of
// package ecmp.
//
// A switch other than the kernel may have its members in another order: [InSwitchOrder]
// brings a group into the order that SONiC's orchagent has programmed, by rows that are
// given.
//
// It only reads the kernel, in the network namespace of the calling thread. Decisions are
// its callers'.
package nexthops
