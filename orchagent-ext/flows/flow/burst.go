// SPDX-License-Identifier: Apache-2.0

package flow

import "sluice/orchagent-ext/wire/roce"

// MaxBurst is the largest number of packets that ObserveBurst takes at once.
const MaxBurst = 64

// burst has, for each packet of a burst, the values that ObserveBurst computes
// before it observes the first.
type burst struct {
	keys   [MaxBurst]Key
	hashes [MaxBurst]uint32
	slots  [MaxBurst]slot // of the index, where the hash has its home
	// found: the flow that has the hash, most likely the packet's; none
	found [MaxBurst]uint32
	pairs [MaxBurst]uint32 // of the flow, where it is needed; noPair
	sum   uint32           // keeps the compiler from leaving loads out
}

// ObserveBurst is Observe for several packets, the first [MaxBurst] of them, in
// order. each is called with the number of a packet and its flow; it may be nil.
//
// With many flows most of Observe's time is waiting for memory. A burst fetches
// the index slots of all packets, then all flows, then all pairs, so that the
// waits overlap: in loops so short that the processor has many of them under way.
func (t *Table) ObserveBurst(packets []roce.Packet, now int64, each func(i int, f *Flow)) {
	packets = packets[:min(len(packets), MaxBurst)]
	t.fetch(packets)
	b := &t.burst
	for i := range packets {
		f := t.observe(&packets[i], &b.keys[i], b.hashes[i], b.found[i], now)
		if each != nil {
			each(i, f)
		}
	}
}

// ObserveBurstAt is ObserveBurst for packets that came at these times (ns), one for each.
// each may be nil. Packets beyond [MaxBurst] are left out, and times has one for each
// packet.
func (t *Table) ObserveBurstAt(packets []roce.Packet, times []int64, each func(i int, f *Flow)) {
	packets = packets[:min(len(packets), MaxBurst)]
	t.fetch(packets)
	b := &t.burst
	if each != nil { // which asks for the source QP, most likely
		for _, n := range b.found[:len(packets)] {
			if n != none && t.flows[n].pair != noPair {
				b.sum += t.ends[t.flows[n].pair].srcQP + uint32(t.pairs[t.flows[n].pair].from)
			}
		}
	}
	for i := range packets {
		f := t.observe(&packets[i], &b.keys[i], b.hashes[i], b.found[i], times[i])
		if each != nil {
			each(i, f)
		}
	}
}

// fetch fills the burst.
func (t *Table) fetch(packets []roce.Packet) {
	b := &t.burst
	for i := range packets {
		b.keys[i].set(&packets[i])
		b.hashes[i] = t.secret.key(&b.keys[i])
	}
	slots, mask := t.index.slots, t.index.mask
	for i, hash := range b.hashes[:len(packets)] {
		b.slots[i] = slots[hash&mask]
	}
	for i, hash := range b.hashes[:len(packets)] {
		n := b.slots[i].entry
		if b.slots[i].hash != hash {
			n = t.index.first(hash)
		}
		b.found[i] = n - 1
		if n != 0 {
			f := &t.flows[n-1]
			b.sum += uint32(f.Src[0]) + f.settled // in its two cache lines
		}
	}
	for i, n := range b.found[:len(packets)] {
		b.pairs[i] = noPair
		if n != none && t.flows[n].settled != t.generation {
			b.pairs[i] = t.flows[n].pair
		}
	}
	for _, n := range b.pairs[:len(packets)] {
		if n != noPair {
			b.sum += t.pairs[n].high
		}
	}
}
