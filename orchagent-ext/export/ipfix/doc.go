// SPDX-License-Identifier: Apache-2.0

// Package ipfix exports RoCEv2 flows and packets by IPFIX (RFC 7011): the base
// transport header as draft-lin defines its elements, and the usual flow elements
// beside it.
//
// A [Meter] works beside a [flow.Table] on the packet path and makes a [Record]
// of each flow that ends or lasts, or of each packet. An [Exporter] takes the
// records and sends them to collectors over UDP, TCP, TLS or DTLS; each has a
// bounded queue and a connection of its own, so that a slow one delays only
// itself. A [Writer] writes an IPFIX file (RFC 5655). All elements and templates
// are made from two tables, elements and fields.
//
// On the packet path the package neither waits nor allocates.
//
// Left out, though RFC 7011 asks for it: SCTP, which few collectors have. DTLS is
// version 1.2; draft-lin cites 1.3.
package ipfix
