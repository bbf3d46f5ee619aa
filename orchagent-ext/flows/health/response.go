// SPDX-License-Identifier: Apache-2.0

package health

import "sluice/orchagent-ext/wire/roce"

// response judges an acknowledgement or a read response, which answers the requests of the
// peer.
func (d *Direction) response(p *roce.Packet, now int64, c *Config) (e Event, missing uint32) {
	psn, peer := p.PSN(), d.Peer()
	op := p.Opcode() & operationMask
	h, acks := p.AETH()
	nak := roce.NotNAK
	if acks {
		nak = h.NAK()
	}
	if op == roce.RCAck && acks {
		d.NAKs[nak]++
		if nak == roce.NotNAK {
			d.Acks++
		}
	}
	if peer != nil && acks {
		switch nak {
		case roce.NotNAK:
			if op != roce.RCReadResponseLast {
				peer.acknowledged(psn, now, c.Untimed)
			}
		case roce.NAKSequence:
			peer.requests.ask(psn)
			peer.unwait(psn)
			peer.rest.refused = true
		default:
			peer.unwait(psn)
			peer.rest.refused = true
		}
	}
	if op == roce.RCAck || op == roce.RCAtomicAck {
		return InOrder, 0
	}
	octets := uint32(max(0, p.PayloadLen()))
	begins := op == roce.RCReadResponseFirst || op == roce.RCReadResponseOnly
	if op != roce.RCReadResponseOnly && op != roce.RCReadResponseLast {
		d.mtu = max(d.mtu, octets)
	}
	d.skip(psn, begins, now)
	e, missing = d.responses.see(psn, 1, now, c.Patience)
	d.judge(psn, e, missing, octets, now)
	d.answering = op != roce.RCReadResponseOnly && op != roce.RCReadResponseLast
	return e, missing
}

// skip judges the PSNs between two responses: the peer's other requests take PSNs
// that read responses lack. Where the peer's read requests are known, PSNs of
// their responses that are missing stay missing; else only those that a message
// needs do.
func (d *Direction) skip(psn uint32, begins bool, now int64) {
	s := &d.responses
	if !s.begun || ahead(psn, s.next) <= 0 || ahead(psn, s.next) > farJump {
		return
	}
	from := s.next
	if peer, mtu := d.Peer(), d.pathMTU(); peer != nil && mtu != 0 {
		s.next = psn
		for i := range maxReads { // the oldest first
			r := &peer.rest.reads[(int(peer.readAt)+i)%maxReads]
			if !r.valid {
				continue
			}
			first, end := r.psn, r.end(mtu)
			if ahead(first, from) < 0 {
				first = from
			}
			if ahead(end, psn) > 0 {
				end = psn
			}
			if n := ahead(end, first); n > 0 {
				d.missed(first, uint32(n), now)
			}
		}
		return
	}
	switch {
	case begins && !d.answering:
		s.next = psn
	case begins: // at least the last one of the message before
		d.missed(from, 1, now)
		s.next = psn
	case !d.answering: // at least the first one of this message
		d.missed((psn-1)&psnMask, 1, now)
		s.next = psn
	}
}

// missed counts n PSNs from first on as missing.
func (d *Direction) missed(first, n uint32, now int64) {
	d.responses.open(hole{first: first, n: n, opened: now})
	d.Gaps++
	d.Missing += uint64(n)
}
