// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// MaxBurst is the largest number of packets that ObserveBurst takes at once.
const MaxBurst = 64

// burst has, for each packet of a burst, the values that ObserveBurst computes
// before it observes the first.
type burst struct {
	found [MaxBurst]*Direction // most likely the packet's; nil: unknown
	// other: whose requests the packet answers; nil: not known
	other [MaxBurst]*Direction
	// histograms: that the packet adds to, most likely; nil: none
	histograms [MaxBurst]*histogram.Coarse
	sum        uint64 // keeps the compiler from leaving loads out
}

// ObserveBurst is Observe for several packets, the first [MaxBurst] of them, in
// order; seen has one element for each. each gets what Observe returns; it may be nil.
//
// With many connections most of Observe's time is waiting for memory. A burst
// fetches the directions of all packets, and then the memory that these name, so
// that the waits overlap: in loops so short that the processor has many of them
// under way.
func (t *Table) ObserveBurst(packets []roce.Packet, seen []Seen, each func(i int, e Event, missing uint32)) {
	packets = packets[:min(len(packets), MaxBurst)]
	t.fetch(packets, seen)
	var k Key
	for i := range packets {
		k.set(&packets[i], &seen[i])
		if e, missing := t.observe(&packets[i], &k, &seen[i]); each != nil {
			each(i, e, missing)
		}
	}
}

// fetch fills the burst.
func (t *Table) fetch(packets []roce.Packet, seen []Seen) {
	b, sum := &t.burst, uint64(0)
	for i := range packets {
		b.found[i], b.other[i], b.histograms[i] = nil, nil, nil
		if slot := seen[i].Slot; slot >= 0 && slot < len(t.slots) {
			b.found[i] = t.slots[slot]
		}
	}
	for _, d := range b.found[:len(packets)] {
		if d != nil {
			sum += uint64(d.DestQP) + uint64(d.Last) + uint64(d.requests.start) + uint64(d.mtu) + d.Packets
		}
	}
	for i, d := range b.found[:len(packets)] {
		switch p := &packets[i]; {
		case d == nil:
		case !p.Opcode().IsResponse():
			if p.AckReq() {
				sum += uint64(d.pending[0]) + uint64(d.sent[d.pendingAt])
			}
			if b.histograms[i] = d.Sizes; d.Sizes != nil {
				sum += d.Sizes.Count
			}
		case d.peer != nil:
			b.other[i] = d.peer
			sum += uint64(d.peer.DestQP) + uint64(d.peer.waiting) + uint64(d.peer.mtu) + uint64(d.peer.pending[0])
		}
	}
	for i := range packets {
		if d := b.other[i]; d != nil {
			b.histograms[i] = d.RTT
		}
		if h := b.histograms[i]; h != nil {
			sum += h.Fetch()
		}
	}
	b.sum = sum
}
