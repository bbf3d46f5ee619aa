// SPDX-License-Identifier: Apache-2.0

// Package savefile reads and writes the records of capture files: pcap
// (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), in both byte orders, with
// every resolution and offset of times. A record is also there as the octets of the file, so
// that a copy keeps all that a packet came with. A record that contradicts itself is counted
// and left out; those after it are read.
//
// Package capture calls it. It knows link types by number only, and never looks into packets.
package savefile
