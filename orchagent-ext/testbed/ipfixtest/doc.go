// SPDX-License-Identifier: Apache-2.0

// Package ipfixtest is an IPFIX collector for tests: it receives UDP, TCP, TLS
// and DTLS on loopback, and decodes with the decoder of goflow2, independent of
// Sluice's own code. It takes the names of enterprise elements only from the type
// records (RFC 5610) that came in.
package ipfixtest
