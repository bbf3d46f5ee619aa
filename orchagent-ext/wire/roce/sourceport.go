// SPDX-License-Identifier: Apache-2.0

package roce

// LinuxSourcePort returns the UDP source port that Linux derives from the queue pairs of a
// connection, 24 bits each (rdma_calc_flow_label and rdma_flow_label_to_udp_sport in
// rdma/ib_verbs.h).
func LinuxSourcePort(local, remote uint32) uint16 {
	v := uint64(local) * uint64(remote)
	v ^= v >> 20
	v ^= v >> 40
	label := uint32(v) & 0xfffff
	return 0xc000 | uint16(label&0x3fff^label>>14)
}
