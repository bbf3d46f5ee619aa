// SPDX-License-Identifier: Apache-2.0

// Package peers compares the records that Sluice sends with those that other programs
// read. Its tests export the captures of tests/captures by IPFIX, over the network or as
// a file, to nfacctd (pmacct), nfcapd (nfdump), ipfixDump (libfixbuf), tshark and
// goflow2's decoder, and compare the flows that each read with those that `sluice decode`
// finds in the same capture. A missing program skips its test; `make deps` installs them.
package peers
