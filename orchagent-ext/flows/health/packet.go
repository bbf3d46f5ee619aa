// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// count counts the properties of a packet that are independent of its PSN.
func (s seat) count(p *roce.Packet, now int64) {
	d := s.state
	ecn := p.TrafficClass() & 3
	if ecn == 3 {
		d.ce++
	}
	if d.traffic.count(uint32(p.Len()), ecn) {
		r := s.rest()
		d.traffic.moveTo(&r.Counters)
		r.CE += uint64(d.ce)
		d.ce = 0
	}
	switch {
	case now == flow.NoTime:
	case d.last == flow.NoTime:
		d.last, s.birth().first = now, now
	default:
		if now < d.last { // the clock went back
			b, r := s.birth(), s.rest()
			b.first, r.latest = min(b.first, now), max(r.latest, d.last)
		}
		d.last = now
	}
	d.label, d.srcPort = p.FlowLabel(), p.SrcPort()
}

// answered counts an acknowledgement or a NAK.
func (s seat) answered(nak roce.NAK) {
	if nak == roce.NotNAK {
		s.state.traffic.acks++
	} else {
		s.rest().NAKs[nak]++
	}
}

// part counts a packet whose neighbors may be missing: by its own header, with
// its place in the sequence left out.
func (s seat) part(p *roce.Packet, op roce.Opcode) {
	d := s.state
	if h, ok := p.AETH(); ok && op.IsResponse() && op&operationMask == roce.RCAck {
		s.answered(h.NAK())
	}
	if d.flags.has(parted) {
		return
	}
	for _, of := range [...]*sequence{&d.requests, &d.responses} {
		if of.holesOpen() > 0 {
			for _, h := range s.gaps(of).missing() {
				s.rest().Unsettled += uint64(h.n)
			}
		}
		*of = sequence{}
	}
	s.forget()
	if r := s.in.rests.get(d.rest); r != nil {
		r.readAt = 0
	}
	d.flags = d.flags&^(sending|answering|late) | parted
}

// useful counts octets of the application that come for the first time.
func (s seat) useful(octets uint32, now int64) {
	d := s.state
	if d.flags&(paid|untimed) == paid && octets > 0 && now != flow.NoTime && (d.payload+octets)>>31 == 0 {
		d.payload += octets
		d.data = now
		return
	}
	if !d.flags.has(paid) {
		if octets == 0 {
			d.data = now
			return
		}
		d.data = 0
		d.flags.put(paid, true)
		d.flags.put(untimed, true)
	}
	if d.flags.has(untimed) {
		s.birth().data = now
		d.flags.put(untimed, now == flow.NoTime)
	}
	if octets == 0 {
		return
	}
	if now != flow.NoTime {
		d.data = now
	}
	if d.payload += octets; d.payload>>31 != 0 {
		s.rest().Payload += uint64(d.payload)
		d.payload = 0
	}
}

// dataSpan returns the times of the first and of the last packet with payload, ns.
func (s seat) dataSpan() [2]int64 {
	if d := s.state; !d.flags.has(paid) {
		return [2]int64{d.data, 0}
	}
	return [2]int64{s.birth().data, s.state.data}
}

// stall counts a pause before a packet that was to be expected sooner.
func (s seat) stall(now, limit int64) {
	d := s.state
	if now == flow.NoTime || d.last == flow.NoTime {
		return
	}
	pause := now - d.last
	if pause > limit && (d.flags.has(sending|answering) || d.waits.waiting != 0 && s.peer().state != nil) {
		r := s.rest()
		r.Stalls++
		r.Stalled += pause
		r.LongestStall = max(r.LongestStall, pause)
	}
}

// judge counts the event that a PSN means.
func (s seat) judge(psn uint32, e Event, missing, octets uint32, now int64) {
	if f := s.state.flags; e == InOrder && !f.has(late) {
		s.useful(octets, now)
		return
	}
	if e != InOrder {
		s.rest().event(e, missing, octets)
	}
	if e != Duplicate {
		s.useful(octets, now)
	}
	if f := &s.state.flags; f.has(late) || e == Reordered {
		f.put(late, s.rest().follow(psn, e, octets, f.has(late)))
	}
}

// event counts the event that a PSN means.
func (r *rest) event(e Event, missing, octets uint32) {
	switch e {
	case Restart:
		r.Restarts++
	case Gap:
		r.Gaps++
		r.Missing += uint64(missing)
	case Reordered:
		r.Reordered++
	case Recovered:
		r.Recovered++
		r.Retransmitted += uint64(octets)
	case Duplicate:
		r.Duplicates++
		r.Retransmitted += uint64(octets)
	}
	// before the first that was seen
	if missing == 0 && (e == Reordered || e == Recovered) {
		r.Missing++
	}
}

// follow takes packets that came late for sent again, where the one behind them was here
// before. late: such packets came last; it returns whether they go on.
func (r *rest) follow(psn uint32, e Event, octets uint32, late bool) bool {
	run := &r.lateRun
	follows := late && psn == run.next
	switch {
	case e == Duplicate && follows:
		r.Reordered -= run.packets
		r.Recovered += run.packets
		r.Retransmitted += run.octets
	case e == Reordered && follows:
		*run = lateRun{(psn + 1) & psnMask, run.packets + 1, run.octets + uint64(octets)}
	case e == Reordered:
		*run = lateRun{(psn + 1) & psnMask, 1, uint64(octets)}
	}
	return e == Reordered
}
