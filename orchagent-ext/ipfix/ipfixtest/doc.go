// SPDX-License-Identifier: Apache-2.0

// Package ipfixtest is an IPFIX collector for tests: it hears UDP, TCP, TLS and
// DTLS on loopback, and decodes with the decoder of goflow2, not with our own.
// It knows the names of enterprise elements from nothing but the type records
// (RFC 5610) that came in.
//
// Tests of package ipfix, of the command line tool and of tests/peers use it; no
// program does.
package ipfixtest
