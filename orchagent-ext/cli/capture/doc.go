// SPDX-License-Identifier: Apache-2.0

// Package capture reads and writes capture files, pcap and pcapng, for the
// commands of the sluice tool. It parses link-layer types; packets are for
// package roce.
package capture
