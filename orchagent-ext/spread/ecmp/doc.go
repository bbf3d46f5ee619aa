// SPDX-License-Identifier: Apache-2.0

// Package ecmp models how a switch chooses one of n equal-cost paths for a
// packet: a hash of header fields, reduced to a path number. Package placement and command
// balance of the sluice tool call it. It is pure: it reads no packet, no routing table and
// no state of the machine it runs on.
//
// # The fields
//
// A [Tuple] holds what the switch sees in the header that it forwards by. For a
// tunnelled packet that is the outer header: protocol 41 or 4 and ports 0, as
// Linux sees it with the fields below. Extension headers are skipped: the
// protocol of RoCEv2 behind a routing header is 17.
//
// # The hash of Linux
//
// [Linux] is what Linux 6.11 and later does, x86-64 or arm64 (little-endian),
// with packets that it forwards under
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
// objects (whose members are passed over while their neighbor does not answer), and the
// buckets of resilient groups. Policy 2 is not modelled.
//
// # Models
//
// A [Model] predicts the member of a group for packets with a label, says whether it
// knows it at all, and keeps the [Score] of its predictions that could be checked:
// [Known] where hash, seed and group are known, [Linear] where they are learned from
// observations, [Observed] where nothing is known but what was observed.
//
// # The others
//
// [CRC32] and [CRC16] are like what switch ASICs offer. Real ones add seeds,
// field masks and folds that their vendors do not publish, so the two show the
// kind of spread, not the path of a certain device.
package ecmp
