// SPDX-License-Identifier: Apache-2.0

package flow

import "sluice/orchagent-ext/wire/roce"

// cm learns from a communication management message between two hosts. k is
// the key of the packet that carried it.
func (l *learner) cm(k *Key, m roce.CM, now int64) {
	src, dst := k.Session()
	switch m.Attribute {
	case roce.CMReq:
		*l.request(src, dst, m.LocalCommID) = request{src, dst, m.LocalCommID, m.LocalQPN, now, true}
	case roce.CMRep:
		l.join(src, dst, m, now)
	case roce.CMDreq:
		l.disconnect(endpoint{src, dst, m.RemoteQPN})
	}
}

// request is where a REQ waits for its REP. Another one may wait there: it is
// overwritten, so that a flood cannot fill this memory.
func (l *learner) request(src, dst [16]byte, commID uint32) *request {
	h := l.endHash(endpoint{src, dst, commID})
	return &l.pending[h&(pendingRequests-1)]
}

// join learns both directions of the connection that a REP from src to dst accepts.
func (l *learner) join(src, dst [16]byte, m roce.CM, now int64) {
	r := l.request(dst, src, m.RemoteCommID)
	if !r.used || r.src != dst || r.dst != src || r.commID != m.RemoteCommID {
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
