// SPDX-License-Identifier: Apache-2.0

// Package peers compares what Sluice sends with what other programs read of it.
// Its tests export the captures of tests/captures by IPFIX, over the network or
// as a file, to nfacctd (pmacct), nfcapd (nfdump), ipfixDump (libfixbuf), tshark
// and goflow2's decoder, and compare what each read with what `sluice decode`
// says of the same capture. A program that is not installed skips its test;
// `make deps` installs them.
package peers
