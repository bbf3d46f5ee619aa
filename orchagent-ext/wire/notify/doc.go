// SPDX-License-Identifier: Apache-2.0

// Package notify reads and writes the messages by which the nodes of a RoCEv2
// fabric tell each other about congestion:
//
//   - [PFCM], the Precision Flow Control Message of draft-yang, to the upstream
//     neighbor: an ICMPv6 message, or an IPv6 hop-by-hop or destination option;
//   - [PPFC], the Precise Priority-based Flow Control notification of draft-xz,
//     to the ingress gateway: over ICMPv6, ICMPv4 or UDP;
//   - [RateAdvice] of draft-zz and [CNP] of RoCEv2, to the sending host;
//   - [PFC] of IEEE 802.1Qbb, to whatever is at the other end of the link.
//
// A [Message] appends itself to a buffer, as payload, as packet from the IP
// header on, or as Ethernet frame ([AppendFrame]). [Packet] parses any of them
// and applies the receive rules that need no state; neither direction
// allocates. Numbers that no registry has assigned are values of [CodePoints],
// never constants of the code, so that one binary speaks with peers that chose
// others. Where a draft is silent or contradicts itself, the doc comment of the
// field says what was decided; docs/wire-formats has all decisions together.
//
// The daemon's receive and send paths and the commands send, listen and decode
// call this package. It opens no socket, knows no flow, keeps no state, and
// obeys nothing: whether a sender is a neighbor, is allowed, or sends too much
// is decided elsewhere.
package notify
