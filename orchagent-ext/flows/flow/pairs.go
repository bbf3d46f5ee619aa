// SPDX-License-Identifier: Apache-2.0

package flow

// acquire returns the pair of a flow, and counts the flow.
func (l *learner) acquire(k *Key) uint32 {
	src, dst := k.Session()
	n := l.obtain(endpoint{src, dst, k.DestQP})
	l.ends[n].refs++
	return n
}

// release drops one flow's use of a pair; the last one keeps or removes it.
func (l *learner) release(n uint32) {
	p, e := &l.pairs[n], &l.ends[n]
	if e.refs--; e.refs > 0 || p.kept {
		return
	}
	if p.from == CM && !p.closed {
		l.keep(n)
		return
	}
	l.remove(n)
}

// obtain returns the pair of an endpoint, which it creates if it is new.
func (l *learner) obtain(e endpoint) uint32 {
	n, ok := l.find(e)
	if ok {
		return n
	}
	if last := len(l.free) - 1; last >= 0 {
		n, l.free = l.free[last], l.free[:last]
	} else {
		n = l.used
		l.used++
	}
	l.pairs[n], l.ends[n] = pair{}, end{endpoint: e}
	if l.index.lacks(int(l.used) - len(l.free)) {
		l.grow()
	}
	l.index.put(l.endHash(e), n)
	return n
}

// grow doubles the index, and the lists by PSN.
func (l *learner) grow() {
	l.index.grow()
	l.heads = make([]uint32, len(l.index.slots))
	for n := range l.used {
		if l.pairs[n].asked != 0 {
			l.link(n)
		}
	}
}

// find returns the number of an endpoint's pair; ok is false for a new endpoint.
func (l *learner) find(e endpoint) (n uint32, ok bool) {
	hash := l.endHash(e)
	for i := hash & l.index.mask; ; i = (i + 1) & l.index.mask {
		s := l.index.slots[i]
		if s.entry == 0 {
			return 0, false
		}
		if s.hash == hash && l.ends[s.entry-1].endpoint == e {
			return s.entry - 1, true
		}
	}
}

// endHash returns the hash under which the index has an endpoint.
func (l *learner) endHash(e endpoint) uint32 { return l.secret.endpoint(&e) }

// remove frees a pair that is unused.
func (l *learner) remove(n uint32) {
	p := &l.pairs[n]
	l.unlink(n)
	if p.peer != 0 && l.pairs[p.peer-1].peer == n+1 {
		l.pairs[p.peer-1].peer = 0
	}
	l.index.remove(l.endHash(l.ends[n].endpoint), n)
	*p = pair{}
	l.free = append(l.free, n)
}

// keep adds a pair that has zero flows to the ring. When the ring is full, the
// pair that entered it first is freed, if it is still unused.
func (l *learner) keep(n uint32) {
	if l.pairs[n].kept {
		return
	}
	slot := &l.kept[l.keptNext]
	l.keptNext = (l.keptNext + 1) % len(l.kept)
	if old := *slot; old != 0 {
		l.pairs[old-1].kept = false
		if l.ends[old-1].refs == 0 {
			l.remove(old - 1)
		}
	}
	*slot = n + 1
	l.pairs[n].kept = true
}

// addresses returns the hash of a pair of addresses, by which answers find
// connections.
func (l *learner) addresses(src, dst [16]byte) uint64 {
	return l.secret.addresses(&src, &dst)
}

// head is the number of the list for two addresses and a PSN bucket.
func (l *learner) head(addresses uint64, bucket uint32) uint32 {
	return uint32((addresses^uint64(bucket))*0x9e3779b97f4a7c15>>32) & l.index.mask
}

// link puts a pair into the list of its newest PSN.
func (l *learner) link(n uint32) {
	p := &l.pairs[n]
	head := &l.heads[l.head(l.addresses(l.ends[n].src, l.ends[n].dst), p.high>>bucketBits)]
	p.prev, p.next = 0, *head
	if *head != 0 {
		l.pairs[*head-1].prev = n + 1
	}
	*head = n + 1
}

// unlink removes a pair from the list of its newest PSN.
func (l *learner) unlink(n uint32) {
	p := &l.pairs[n]
	if p.asked == 0 {
		return
	}
	if p.prev != 0 {
		l.pairs[p.prev-1].next = p.next
	} else {
		l.heads[l.head(l.addresses(l.ends[n].src, l.ends[n].dst), p.high>>bucketBits)] = p.next
	}
	if p.next != 0 {
		l.pairs[p.next-1].prev = p.prev
	}
}
