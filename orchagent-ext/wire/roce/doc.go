// SPDX-License-Identifier: Apache-2.0

// Package roce reads and writes RoCEv2 packets: Ethernet, IP, UDP port 4791, the
// InfiniBand base transport header (BTH), the extended headers after it, RDMA-CM
// messages on queue pair 1, and the invariant CRC (ICRC).
//
// [Packet] parses in place: it keeps offsets into the caller's buffer, and
// neither copies nor allocates, for good and bad packets alike. Each header is
// also a plain struct with an append-style Append method, and [Finish] completes
// a packet that was put together from them.
//
// The package is pure: packets in, values out.
//
// Sources: IBTA specification volume 1 (transport headers, annex A17 for RoCEv2),
// RFC 8200 (IPv6), RFC 8754 (segment routing header), RFC 8986.
package roce
