// SPDX-License-Identifier: Apache-2.0

package flow

import "sluice/orchagent-ext/wire/roce"

// cm learns from a communication management message between two hosts. k is
// the key of the packet that carried it.
func (l *learner) cm(k *Key, m roce.CM, now int64) {
	src, dst := k.Session()
	switch m.Attribute {
	case roce.CMReq:
		r, _ := l.request(src, dst, m.LocalCommID)
		*r = request{src, dst, m.LocalCommID, m.LocalQPN, now, true}
	case roce.CMRep:
		l.join(src, dst, m, now)
	case roce.CMDreq:
		l.disconnect(endpoint{src, dst, m.RemoteQPN})
	}
}

// request returns where the REQ with a communication id waits for its REP; found is false where
// that one does not, and the place is the one for it: an empty one of the requestWays places that
// its hash has, or the oldest, which is overwritten, so that a flood cannot fill this memory.
func (l *learner) request(src, dst [16]byte, commID uint32) (place *request, found bool) {
	h := l.endHash(endpoint{src, dst, commID})
	for i := range uint32(requestWays) {
		r := &l.pending[(h+i)%pendingRequests]
		if r.used && r.commID == commID && r.src == src && r.dst == dst {
			return r, true
		}
		if place == nil || r.time < place.time {
			place = r
		}
	}
	return place, false
}

// join learns both directions of the connection that a REP from src to dst accepts.
func (l *learner) join(src, dst [16]byte, m roce.CM, now int64) {
	r, found := l.request(dst, src, m.RemoteCommID)
	if !found {
		l.stats.CMWithoutReq++
		return
	}
	if now-r.time > requestLifetimeNs {
		l.stats.CMExpired++
		return
	}
	l.announce(endpoint{dst, src, m.LocalQPN}, r.qpn)
	l.announce(endpoint{src, dst, r.qpn}, m.LocalQPN)
}

// announce records the source queue pair that CM named for a direction whose
// packets may come later. Such pairs wait in the ring kept.
func (l *learner) announce(e endpoint, srcQP uint32) {
	n := l.obtain(e)
	p, end := &l.pairs[n], &l.ends[n]
	if p.from == CM && end.srcQP == srcQP && !p.closed {
		return // the message was sent twice
	}
	l.forget(n)
	p.from, end.srcQP = CM, srcQP
	l.stats.LearnedCM++
	l.tell(n)
	if end.refs == 0 {
		l.keep(n)
	}
}

// disconnect marks both directions of a connection as closed. Their source queue
// pairs stay known until a queue pair is used again.
func (l *learner) disconnect(e endpoint) {
	n, ok := l.find(e)
	if !ok {
		return
	}
	p := &l.pairs[n]
	p.closed = true
	l.generation++
	if p.from == None {
		return
	}
	if back, ok := l.find(endpoint{e.dst, e.src, l.ends[n].srcQP}); ok {
		l.pairs[back].closed = true
	}
}
