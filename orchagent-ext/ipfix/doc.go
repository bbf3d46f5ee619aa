// SPDX-License-Identifier: Apache-2.0

// Package ipfix exports RoCEv2 flows and packets by IPFIX (RFC 7011): the base
// transport header as draft-lin defines its elements, and the usual flow
// elements beside it.
//
// A [Meter] lies beside a [flow.Table] on the packet path and makes a [Record]
// of each flow that ends or lasts, or of each packet. An [Exporter] takes the
// records and sends them to collectors over UDP, TCP, TLS or DTLS; each has a
// bounded queue and a connection of its own, so that a slow one harms no other.
// A [Writer] writes an IPFIX file (RFC 5655). All elements and templates come
// out of two tables, elements and fields.
//
// Package packetio and the command line tool call it. It never waits on the
// packet path, allocates nothing a record, and reads no configuration database.
//
// Not there, though RFC 7011 asks for it: SCTP, which hardly a collector has.
// DTLS is version 1.2; draft-lin cites 1.3.
package ipfix
