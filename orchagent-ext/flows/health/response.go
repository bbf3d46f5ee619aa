// SPDX-License-Identifier: Apache-2.0

package health

import "sluice/orchagent-ext/wire/roce"

// response judges an acknowledgement or a read response, which answers the requests of the
// peer.
func (s seat) response(p *roce.Packet, now int64, c *Config) (e Event, missing uint32) {
	psn := p.PSN()
	op := p.Opcode() & operationMask
	h, acks := p.AETH()
	nak := roce.NotNAK
	if acks {
		nak = h.NAK()
	}
	if op == roce.RCAck && acks {
		s.answered(nak)
	}
	if acks && (nak != roce.NotNAK || !c.Untimed) {
		if peer := s.peer(); peer.state != nil {
			peer.answer(psn, nak, op != roce.RCReadResponseLast, now)
		}
	}
	if op == roce.RCAck || op == roce.RCAtomicAck {
		return InOrder, 0
	}
	d := s.state
	octets := uint32(max(0, p.PayloadLen()))
	begins := op == roce.RCReadResponseFirst || op == roce.RCReadResponseOnly
	goesOn := op != roce.RCReadResponseOnly && op != roce.RCReadResponseLast
	if goesOn {
		d.messages.mtu = max(d.messages.mtu, octets)
	}
	s.skip(psn, begins, now)
	if !d.responses.follows(psn, 1) {
		e, missing = s.see(&d.responses, psn, 1, now, c.Patience)
	}
	s.judge(psn, e, missing, octets, now)
	d.flags.put(answering, goesOn)
	return e, missing
}

// answer takes the answer to the request of a PSN; acknowledges: it acknowledges those before it,
// too, if it is no NAK.
func (s seat) answer(psn uint32, nak roce.NAK, acknowledges bool, now int64) {
	if nak == roce.NotNAK {
		if acknowledges {
			s.acknowledged(psn, now)
		}
		return
	}
	if requests := &s.state.requests; nak == roce.NAKSequence && requests.holesOpen() > 0 {
		s.gaps(requests).ask(psn)
	}
	s.unwait(psn)
	s.rest().refused = true
}

// skip judges the PSNs between two responses: the peer's other requests take PSNs
// that read responses lack. Where the peer's read requests are known, PSNs of
// their responses that are missing stay missing; else only those that a message
// needs do.
func (s seat) skip(psn uint32, begins bool, now int64) {
	of := &s.state.responses
	next, goesOn := of.next&psnMask, s.state.flags.has(answering)
	if !of.begun() || ahead(psn, next) <= 0 || ahead(psn, next) > farJump {
		return
	}
	if peer, mtu := s.peer(), s.pathMTU(); peer.state != nil && mtu != 0 {
		of.goTo(psn)
		if r := s.in.rests.get(peer.state.rest); r != nil {
			s.unanswered(r, mtu, next, psn, now)
		}
		return
	}
	switch {
	case begins && !goesOn:
		of.goTo(psn)
	case begins: // at least the last one of the message before
		s.missed(next, 1, now)
		of.goTo(psn)
	case !goesOn: // at least the first one of this message
		s.missed((psn-1)&psnMask, 1, now)
		of.goTo(psn)
	}
}

// unanswered counts the PSNs from one to the one before another as missing that belong to the read
// requests of the peer.
func (s seat) unanswered(peer *rest, mtu, from, to uint32, now int64) {
	for i := range maxReads { // the oldest first
		r := &peer.reads[(int(peer.readAt)+i)%maxReads]
		if !r.valid {
			continue
		}
		first, end := r.psn, r.end(mtu)
		if ahead(first, from) < 0 {
			first = from
		}
		if ahead(end, to) > 0 {
			end = to
		}
		if n := ahead(end, first); n > 0 {
			s.missed(first, uint32(n), now)
		}
	}
}

// missed counts n PSNs from first on as missing.
func (s seat) missed(first, n uint32, now int64) {
	s.gaps(&s.state.responses).open(hole{first: first, n: n, opened: now})
	r := s.rest()
	r.Gaps++
	r.Missing += uint64(n)
}
