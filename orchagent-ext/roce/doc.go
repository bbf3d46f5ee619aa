// SPDX-License-Identifier: Apache-2.0

// Package roce reads and writes RoCEv2 packets: Ethernet, IP, UDP port 4791,
// the InfiniBand base transport header (BTH), the extended headers behind it,
// RDMA-CM messages on queue pair 1, and the invariant CRC (ICRC).
//
// [Packet] parses in place: it keeps offsets into the caller's buffer, copies
// nothing and allocates nothing, neither for good packets nor for bad ones.
// Each header is also a plain struct with an append-style Append method, and
// [Finish] completes a packet that was put together from them.
//
// The packet path, the notification codecs and the command line tool call this
// package. It opens no socket, knows no flow, and keeps no state.
//
// Sources: IBTA specification volume 1 (transport headers, annex A17 for
// RoCEv2), RFC 8200 (IPv6), RFC 8754 (segment routing header), RFC 8986.
package roce
