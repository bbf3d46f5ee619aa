// SPDX-License-Identifier: Apache-2.0

package nic

import "sluice/orchagent-ext/wire/roce"

// framer builds the frames that answer others, each in the place of the one before.
type framer struct{ answer []byte }

// ack acknowledges the packet in a frame, to the queue pair that sent it.
func (r *framer) ack(frame []byte, p *roce.Packet, qp, msn uint32) []byte {
	b := roce.BTH{Opcode: roce.RCAck, PKey: p.PKey(), DestQP: qp, PSN: p.PSN()}.Append(r.back(frame, p))
	return r.finish(roce.AETH{Syndrome: 0x1f, MSN: msn}.Append(b))
}

// back begins a frame to where the packet in a frame came from, up to the UDP header.
func (r *framer) back(frame []byte, p *roce.Packet) []byte {
	b := appendHeaders(r.answer[:0], roce.Ethernet{Dst: roce.MAC(frame[6:12]), Src: roce.MAC(frame[:6])}, p.Dst(), p.Src(), p.TrafficClass(), 0)
	return roce.UDPHeader{SrcPort: p.SrcPort(), DstPort: roce.UDPPort}.Append(b)
}

// finish completes lengths, checksums and ICRC of the answer.
func (r *framer) finish(b []byte) []byte {
	b, err := roce.Finish(b, ethernetLen)
	if err != nil {
		return nil // cannot be: it was put together here
	}
	r.answer = b
	return b
}
