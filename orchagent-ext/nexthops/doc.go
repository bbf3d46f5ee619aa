// SPDX-License-Identifier: Apache-2.0

// Package nexthops reads from the Linux kernel, by netlink, the group of next hops by
// which it forwards to a destination: members, weights, which are dead, and the buckets
// of a resilient group; and from its sysctls the hash. Together they are a model of
// package ecmp.
//
// Package placing calls it. It changes nothing in the kernel, and decides
// nothing. It reads the network namespace of the calling thread.
package nexthops
