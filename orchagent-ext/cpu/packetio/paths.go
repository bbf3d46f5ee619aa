// SPDX-License-Identifier: Apache-2.0

package packetio

import "net/netip"

// Sample is a packet, for those that place flows: of which flow it is, and where it leaves.
type Sample struct {
	Src, Dst netip.Addr
	SrcPort  uint16 // UDP
	From, To uint64 // the ports, as the source numbers them; 0: unknown
	Octets   int    // of the packet
}

// Samples is the queue of packets of RoCEv2, outside tunnels; nil where [Config.Samples] is 0.
func (r *Reader) Samples() <-chan Sample { return r.paths }

// path passes the packets of a burst on. A full queue drops them: shares are kept.
func (r *Reader) path(n int) {
	for i := range r.packets[:n] {
		p := &r.packets[i]
		if p.Tunnelled() || p.Fragment() {
			continue
		}
		f := &r.frames[r.from[i]]
		select {
		case r.paths <- Sample{p.Src(), p.Dst(), p.SrcPort(), f.From, f.To, p.Len()}:
		default:
			r.samplesFull.Add(1)
		}
	}
}
