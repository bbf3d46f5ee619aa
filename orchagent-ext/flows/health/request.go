// SPDX-License-Identifier: Apache-2.0

package health

import (
	"math/bits"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// operationMask takes the service off an opcode: the operations of UC and XRC are RC's.
const operationMask = 0x1f

// mtus are the path MTUs of InfiniBand, in octets.
var mtus = [...]uint32{4096, 2048, 1024, 512, 256}

// request judges a request of a connection; last is when the packet before it came.
func (s seat) request(p *roce.Packet, now, last int64, c *Config) (e Event, missing uint32) {
	d, psn, octets := s.state, p.PSN(), uint32(max(0, p.PayloadLen()))
	op := p.Opcode() & operationMask
	span := uint32(1) // of PSNs
	if d.flags.has(reading) {
		s.settleRead(psn)
	}
	reth, announced := p.RETH()
	isRead := announced && op == roce.RCReadRequest
	if isRead {
		if mtu := s.pathMTU(); mtu != 0 {
			r := readRequest{psn: psn, length: reth.Length}
			span = (r.end(mtu) - psn) & psnMask
		}
	}
	if !d.requests.follows(psn, span) {
		e, missing = s.see(&d.requests, psn, span, now, c.Patience)
	}
	s.judge(psn, e, missing, octets, now)
	if e.Retransmitted() && !c.Untimed && now != flow.NoTime && last != flow.NoTime && s.peer().state != nil {
		if r := s.rest(); r.wentBack(now-last, c.Patience) {
			r.Timeouts++
		}
	}
	if e == Restart {
		s.forget()
	}
	if isRead && e != Duplicate {
		s.rest().remember(readRequest{psn, reth.Length, true})
		if span == 1 && s.pathMTU() == 0 {
			s.rest().read = readRequest{psn, reth.Length, true}
			d.flags.put(reading, true)
		}
	}
	if e == Duplicate || e == Recovered {
		s.unwait(psn)
	} else if !c.Untimed && (p.AckReq() || isRead || op == roce.RCCompareSwap || op == roce.RCFetchAdd) {
		d.waits.put(&s.in.pendings, psn, now)
	}
	length := reth.Length
	if !announced { // or the capture cut it
		length = octets
	}
	if e != Duplicate && (announced || op != roce.RCWriteFirst) {
		s.size(op, psn, octets, length)
	}
	return e, missing
}

// remember remembers a read request as the newest one.
func (r *rest) remember(read readRequest) {
	r.reads[r.readAt] = read
	r.readAt = (r.readAt + 1) % maxReads
}

// forget drops the state of the connection before.
func (s seat) forget() {
	d := s.state
	d.waits.waiting, d.messages.begun = 0, 0
	d.flags.put(reading, false)
	if r := s.in.rests.get(d.rest); r != nil {
		r.reads = [maxReads]readRequest{}
	}
}

// pathMTU returns the connection's path MTU in octets; 0 while it is unknown.
func (s seat) pathMTU() uint32 {
	if mtu := s.state.messages.mtu; mtu != 0 {
		return mtu
	}
	if peer := s.peer(); peer.state != nil {
		return peer.state.messages.mtu
	}
	return 0
}

// settleRead computes where the responses of the read request before end, which
// is still open: by the path MTU that is known now, or by the one path MTU that
// fits the PSN of the next request.
func (s seat) settleRead(psn uint32) {
	d, r := s.state, s.rest().read
	if d.requests.next&psnMask != (r.psn+1)&psnMask {
		d.flags.put(reading, false)
		return
	}
	if mtu := s.pathMTU(); mtu != 0 {
		d.requests.goTo(r.end(mtu))
		d.flags.put(reading, false)
		return
	}
	for _, mtu := range mtus { // the last one up to it
		if end := r.end(mtu); ahead(psn, end) >= 0 {
			d.requests.goTo(end)
			d.flags.put(reading, false)
		}
	}
}

// unwait forgets the requests from a PSN on: an acknowledgement is ambiguous
// among several sendings of one request (Karn's algorithm).
func (s seat) unwait(psn uint32) {
	s.state.waits.drop(&s.in.pendings, func(of uint32, _ int64) bool { return ahead(of, psn) >= 0 })
}

// acknowledged takes the acknowledgement of a PSN and of all before it.
func (s seat) acknowledged(psn uint32, now int64) {
	w := &s.state.waits
	for left := w.waiting; left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		of, sent := s.in.pendings.read(w.ring, i)
		behind := ahead(psn, of)
		if behind < 0 {
			continue
		}
		w.waiting &^= 1 << i
		if behind == 0 && now >= sent && sent != flow.NoTime {
			s.tally(&s.state.rtt).add(uint64(now-sent), &s.in.histograms)
		}
	}
}
