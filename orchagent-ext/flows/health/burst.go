// SPDX-License-Identifier: Apache-2.0

package health

import "sluice/orchagent-ext/wire/roce"

// MaxBurst is the largest number of packets that ObserveBurst takes at once.
const MaxBurst = 64

// burst has, for each packet of a burst, the values that ObserveBurst computes
// before it observes the first.
type burst struct {
	found [MaxBurst]uint32 // seat, most likely the packet's; 0: unknown
	// asked: seat whose requests the packet answers; 0: not known
	asked [MaxBurst]uint32
	sum   uint64 // keeps the compiler from leaving loads out
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
	for i := range packets {
		if e, missing := t.observe(&packets[i], &seen[i], t.burst.found[i]); each != nil {
			each(i, e, missing)
		}
	}
}

// fetch fills the burst.
func (t *Table) fetch(packets []roce.Packet, seen []Seen) {
	b, sum, m := &t.burst, uint64(0), &t.store
	for i := range packets {
		b.found[i] = 0
		if slot := seen[i].Slot; slot >= 0 && slot < len(t.slots) {
			b.found[i] = t.slots[slot]
		}
	}
	for i, n := range b.found[:len(packets)] {
		if n == 0 {
			continue
		}
		d := m.states.at(n)
		if sum += uint64(d.last); !packets[i].Opcode().IsResponse() {
			sum += uint64(d.payload)
		}
	}
	if b.sum = sum; t.config.Untimed {
		return
	}
	for i, n := range b.found[:len(packets)] {
		b.asked[i] = 0
		if n == 0 {
			continue
		}
		d := m.states.at(n)
		if p := &packets[i]; p.Opcode().IsResponse() {
			b.asked[i] = d.peer
			if d.peer != 0 {
				asked := m.states.at(d.peer)
				sum += uint64(asked.last) + uint64(asked.payload)
			}
		} else if p.AckReq() && d.waits.ring != 0 {
			sum += uint64(m.pendings.at(d.waits.ring).more)
		}
	}
	for _, n := range b.asked[:len(packets)] {
		if n == 0 {
			continue
		}
		d := m.states.at(n)
		if d.waits.ring != 0 {
			sum += uint64(m.pendings.at(d.waits.ring).more)
		}
		if d.rtt != 0 {
			sum += uint64(m.tallies.at(d.rtt).n)
		}
	}
	b.sum += sum
}
