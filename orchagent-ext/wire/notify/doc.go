// SPDX-License-Identifier: Apache-2.0

// Package notify reads and writes the messages by which the nodes of a RoCEv2 fabric
// notify each other of congestion:
//
//   - [PFCM], the Precision Flow Control Message of draft-yang, to the upstream
//     neighbor: an ICMPv6 message, or an IPv6 hop-by-hop or destination option;
//   - [PPFC], the Precise Priority-based Flow Control notification of draft-xz,
//     to the ingress gateway: over ICMPv6, ICMPv4 or UDP;
//   - [RateAdvice] of draft-zz and [CNP] of RoCEv2, to the sending host;
//   - [PFC] of IEEE 802.1Qbb, to whatever is at the other end of the link.
//
// A [Message] appends itself to a buffer, as payload, as packet from the IP header on, or
// as Ethernet frame ([AppendFrame]). [Packet] parses any of them and applies the
// stateless receive rules; both directions are free of allocations. Numbers that
// registries have yet to assign are values of [CodePoints] instead of constants, so that
// one binary speaks with peers that chose others. Where a draft is silent or contradicts
// itself, the doc comment of the field has the decision; docs/wire-formats has all
// decisions together.
//
// The package is a codec, without sockets and state. Whether a sender is a neighbor, is
// allowed, or sends too much is decided by its callers.
package notify
