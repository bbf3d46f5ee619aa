// SPDX-License-Identifier: Apache-2.0

// Package link finds where the packet begins in the frames of captures, by their link types
// (https://www.tcpdump.org/linktypes.html): Linux cooked, PPP, BSD loopback, ERF, PPI, NFLOG,
// IPNET, IEEE 802.11 and others. Package capture calls it. It is pure: octets in, an offset
// and an EtherType out; all after that is for package roce.
package link
