package flow

import "sluice/orchagent-ext/roce"

// MaxBurst is the largest number of packets that ObserveBurst takes at once.
const MaxBurst = 64

// burst is what ObserveBurst knows of each packet before it observes it.
type burst struct {
	keys   [MaxBurst]Key
	hashes [MaxBurst]uint32
	flows  [MaxBurst]uint32 // number + 1 in the home slot; 0: empty
	pairs  [MaxBurst]uint32
	sum    uint32 // keeps the compiler from leaving loads out
}

// ObserveBurst is Observe for several packets, the first [MaxBurst] of them, in
// order. each is called with the number of a packet and its flow; it may be nil.
//
// With many flows most of Observe's time is waiting for memory. A burst fetches
// the index slots of all packets, then all flows, then all pairs, so that the
// waits overlap.
func (t *Table) ObserveBurst(packets []roce.Packet, now int64, each func(i int, f *Flow)) {
	packets = packets[:min(len(packets), MaxBurst)]
	b := &t.burst
	for i := range packets {
		b.keys[i].set(&packets[i])
		b.hashes[i] = t.secret.key(&b.keys[i])
		b.flows[i] = t.index.slots[b.hashes[i]&t.index.mask].entry
	}
	for i, n := range b.flows[:len(packets)] {
		b.pairs[i] = noPair
		if n != 0 {
			f := &t.flows[n-1]
			b.sum += uint32(f.Src[0]) // in the flow's first cache line; settled is in its second
			if f.settled != t.generation {
				b.pairs[i] = f.pair
			}
		}
	}
	for _, n := range b.pairs[:len(packets)] {
		if n != noPair {
			b.sum += t.pairs[n].high
		}
	}
	for i := range packets {
		f := t.observe(&packets[i], &b.keys[i], b.hashes[i], now)
		if each != nil {
			each(i, f)
		}
	}
}
