// SPDX-License-Identifier: Apache-2.0

// Package fabric builds small networks of Linux network namespaces ([Node]) and
// veth links ([Interface]) between them, and removes them. It needs root and the kernel alone.
// Its effects stay within its own namespaces and links.
//
// # The networks
//
// [Fabric.Pair] is two hosts on a link, [Fabric.Routed] two hosts and a router,
// [Fabric.LeafSpine] two hosts, a leaf and a spine with several equal-cost links
// between them. [Fabric.Node] and [Fabric.Link] are for other shapes.
//
// A link is silent, so that an interface's counters count exactly the packets
// that were sent: neighbor entries are permanent; ARP, neighbor and duplicate
// address detection, router advertisements and multicast listener reports are
// off. Every address is usable at once. Checksum offload is off: a frame arrives
// with its checksums filled in.
//
// Routers forward IPv4 and IPv6. They hash the 5-tuple (fib_multipath_hash_policy
// 1) as a switch does by default, where the kernel's default is to hash addresses
// and flow label; the seed is 1, where the kernel has it, so that the same
// packets take the same paths in every run. Both are the namespace's own and can
// be changed, see [Node.Sysctl].
//
// # Cleaning up
//
// [Fabric.Close] removes all, and ends the processes started in the namespaces.
// Where the maker is killed, the kernel ends those processes with it, and the
// next [New] removes its namespaces: their names carry the maker's pid
// (sluice-PID-N-node in `ip netns`). While another process has that pid, they
// stay.
package fabric
