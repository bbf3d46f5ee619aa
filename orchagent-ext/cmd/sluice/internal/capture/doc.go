// SPDX-License-Identifier: Apache-2.0

// Package capture reads and writes capture files, pcap and pcapng, for the
// commands of the sluice tool. It knows link-layer types and nothing of RDMA;
// what a frame means is package roce's to say.
package capture
