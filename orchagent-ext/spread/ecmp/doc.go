// SPDX-License-Identifier: Apache-2.0

// Package ecmp models how a switch chooses one of n equal-cost paths for a packet: a hash
// of header fields, reduced to a path number. It is pure: packets, routes and the settings
// of the kernel are given.
//
// # The fields
//
// A [Tuple] holds the fields of the header that the switch forwards by. For a tunnelled
// packet that is the outer header: protocol 41 or 4 and ports 0, as Linux sees it with
// the fields below. Extension headers are skipped: the protocol of RoCEv2 after a routing
// header is 17.
//
// # The hash of Linux
//
// [Linux] is the hash of Linux 6.11 and later, on x86-64 or arm64 (little-endian), for
// packets that it forwards under
//
//	net.ipv6.fib_multipath_hash_policy = 3
//	net.ipv6.fib_multipath_hash_fields = 55    (0x37: the 5-tuple)
//	net.ipv6.fib_multipath_hash_fields = 63    (0x3f: the 5-tuple and the flow label)
//	net.ipv4.fib_multipath_hash_seed   = 1     (DefaultSeed; IPv4 and IPv6 share it)
//
// and the same names under net.ipv4 for IPv4. Seed 0, the kernel's default, means
// a random one drawn at boot that cannot be read back, hence the model's default
// of 1: set the same in the kernel to get the paths that the model names. Path i
// is the i-th nexthop of the route in the order that `ip route` lists, all of
// weight 1. A test forwards packets through the running kernel and compares every
// one.
//
// Packets that the host itself sends, and so the answers of `ip route get`, take
// other paths: there the kernel leaves out the last mixing step and hashes the
// flow label in the other byte order.
//
// [Kernel] has the other policies (0: addresses and label, 1: the 5-tuple) and other
// fields, [Group] the other groups: weights, next hops that are dead, groups of next-hop
// objects (whose members are passed over while their neighbor is silent), and the buckets
// of resilient groups. Policy 2 is left out.
//
// # Models
//
// A [Model] predicts the member of a group for packets with a label, reports whether it
// knows the member, and keeps the [Score] of its predictions that could be checked:
// [Known] has hash, seed and group, [Linear] learns them from observations, [Observed]
// knows the observations alone.
//
// # The others
//
// [CRC32] and [CRC16] are like the hashes of switch ASICs. Real ones add seeds, field
// masks and folds that their vendors keep unpublished, so the two show the kind of
// spread, not the path of a certain device.
package ecmp
