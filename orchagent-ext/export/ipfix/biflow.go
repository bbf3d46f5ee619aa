// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"time"

	"sluice/orchagent-ext/flows/flow"
)

// Biflows joins the records of the two directions of a connection into one (RFC
// 5103): a record waits for that of the other direction, and is exported alone
// when the time is up. Directions are joined by addresses and both queue pairs,
// so only where both are known. The direction that began first is the forward
// one.
//
// Decision: RFC 5103 joins flows whose ports mirror one another. Those of RoCEv2
// differ: both directions go to port 4791, each from a port of its own. So the
// queue pairs identify them, and the other direction's port is exported as
// reverse sourceTransportPort. Of the elements that lack a reverse (opcode, PSN,
// flags, counts of CE) a biflow has those of its forward direction.
//
// It belongs to one goroutine, and allocates only when it is made.
type Biflows struct {
	// wait is ns. head is the place of the oldest record, n how many places are taken:
	// joined records leave theirs empty until it is the oldest.
	wait    int64
	export  func([]Record)
	ring    []Record // that wait, the oldest at head
	waiting []bool   // of ring: not joined yet
	head, n int
	places  map[ends]int // in ring
	one     [1]Record
}

// ends names one direction of a connection.
type ends struct {
	src, dst      [16]byte
	srcQP, destQP uint32
}

// NewBiflows returns Biflows that let up to capacity records wait, each for at
// most wait, and pass joined and single records to export.
func NewBiflows(capacity int, wait time.Duration, export func([]Record)) *Biflows {
	return &Biflows{wait: int64(wait), export: export, ring: make([]Record, capacity), waiting: make([]bool, capacity), places: make(map[ends]int, capacity)}
}

// Export takes records. Their End is the clock by which waiting records go out. Records
// of packets, and those without a source queue pair, go out at once.
func (b *Biflows) Export(records []Record) {
	for i := range records {
		r := &records[i]
		b.Tick(r.End)
		if r.Packet || r.SrcQPFrom == flow.None {
			b.out(r)
			continue
		}
		if place, ok := b.places[ends{r.Dst, r.Src, r.DestQP, r.SrcQP}]; ok {
			b.leave(place)
			b.one[0] = join(&b.ring[place], r)
			b.export(b.one[:])
			continue
		}
		b.put(r)
	}
}

// Tick hands out the records that waited in vain until now, ns since 1970. Call it also
// while there are no records, so that the last ones go out in time.
func (b *Biflows) Tick(now int64) {
	if now == flow.NoTime {
		return
	}
	for b.n > 0 && (!b.waiting[b.head] || now-b.ring[b.head].End >= b.wait) {
		b.drop()
	}
}

// Flush hands out every record that waits. It is for the end; afterwards the memory is
// empty and b can go on.
func (b *Biflows) Flush() {
	for b.n > 0 {
		b.drop()
	}
}

// put makes a record wait. An older record of the same direction is exported
// first.
func (b *Biflows) put(r *Record) {
	key := ends{r.Src, r.Dst, r.SrcQP, r.DestQP}
	if place, ok := b.places[key]; ok {
		b.leave(place)
		b.out(&b.ring[place])
	}
	if b.n == len(b.ring) {
		b.drop()
	}
	place := (b.head + b.n) % len(b.ring)
	b.ring[place], b.waiting[place], b.places[key] = *r, true, place
	b.n++
}

// drop takes the oldest place off the ring; its record goes out if it waited.
func (b *Biflows) drop() {
	place := b.head
	b.head = (b.head + 1) % len(b.ring)
	b.n--
	if b.waiting[place] {
		b.leave(place)
		b.out(&b.ring[place])
	}
}

// leave removes the record at a place from those that wait.
func (b *Biflows) leave(place int) {
	r := &b.ring[place]
	b.waiting[place] = false
	delete(b.places, ends{r.Src, r.Dst, r.SrcQP, r.DestQP})
}

// out exports one record; export may keep it only until it returns.
func (b *Biflows) out(r *Record) {
	b.one[0] = *r
	b.export(b.one[:])
}

// join makes one record of two directions.
func join(x, y *Record) Record {
	if y.Start < x.Start {
		x, y = y, x
	}
	r := *x
	r.Reverse = Reverse{Octets: y.Octets, Packets: y.Packets, Start: y.Start, End: y.End, SrcPort: y.SrcPort}
	return r
}
