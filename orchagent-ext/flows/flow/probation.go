// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"hash/maphash"
	"time"
)

// Probation counts how often a flow was seen recently, for more flows than a
// [Table] holds: flows that were seen once are many when a port floods. Its size
// is fixed. It belongs to one goroutine, and allocates only when it is made.
//
// A flow has its place in a set by its hash. In a full set the flow that was seen
// least recently is replaced.
type Probation struct {
	sets [][probationWays]sighting
	seed maphash.Seed
}

// sighting is a flow on probation. Times are in milliseconds, and wrap.
type sighting struct {
	hash uint32 // 0: the place is free
	seen uint32 // times
	last uint32
	told uint32
}

const (
	// Size of the set-associative filter of flows with one packet: a set is one cache line,
	// so that a lookup costs one miss.
	probationWays = 4       // 64 octets, a cache line
	probationSets = 1 << 15 // 2 MiB

	// probationTime: after which a flow is new again
	probationTime = uint32(10 * time.Second / time.Millisecond)
	probationTell = uint32(250 * time.Millisecond / time.Millisecond)
)

// NewProbation makes an empty table of 131,072 flows. It takes 2 MiB at once and never
// grows: a new flow takes the place of another in its set.
func NewProbation() *Probation {
	return &Probation{make([][probationWays]sighting, probationSets), maphash.MakeSeed()}
}

// sightingKey identifies a flow to Probation: session addresses and queue pair.
type sightingKey struct {
	src, dst [16]byte
	qp       uint32
}

// See counts a packet of a flow, whatever its source port and partition, at time
// now (ns). It returns how often the flow was seen, and whether to report it
// (again): at each power of two from the second time on, and each 250 ms.
func (p *Probation) See(k *Key, now int64) (times uint32, tell bool) {
	h := maphash.Comparable(p.seed, sightingKey{k.Src, k.Dst, k.DestQP})
	hash, at := max(1, uint32(h>>32)), uint32(now/int64(time.Millisecond))
	set := &p.sets[h%probationSets]
	place := &set[0]
	for i := range set {
		s := &set[i]
		if s.hash == hash {
			place = s
			break
		}
		if s.hash == 0 || place.hash != 0 && at-s.last > at-place.last {
			place = s
		}
	}
	if place.hash != hash || at-place.last > probationTime {
		*place = sighting{hash: hash, told: at}
	}
	place.last = at
	if place.seen++; place.seen == 0 { // numbers wrap before a new flow
		place.seen--
	}
	tell = place.seen > 1 && (place.seen&(place.seen-1) == 0 || at-place.told >= probationTell)
	if tell {
		place.told = at
	}
	return place.seen, tell
}
