// SPDX-License-Identifier: Apache-2.0

package source

import (
	"math"
	"net/netip"
	"time"

	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

const (
	// CNPs of one host and of all, in a second: 8 flows of a host and 64 in all are stopped,
	// each by some 3,500 CNPs a second.
	hostCNPs, allCNPs = 30_000, 240_000

	// policedFor is after what time a CNP is tried again that these limits denied.
	policedFor = time.Millisecond
)

// limits bound CNPs.
type limits struct {
	hosts map[netip.Addr]kernel.Bucket
	all   kernel.Bucket
}

// newLimits returns limits with all their memory.
func newLimits() limits {
	return limits{make(map[netip.Addr]kernel.Bucket, maxFlows), kernel.Bucket{Rate: kernel.Rate{PerSecond: allCNPs, Burst: allCNPs / 100}}}
}

// allow reports whether a CNP to a host passes now.
func (l *limits) allow(now int64, to netip.Addr) bool {
	host, known := l.hosts[to]
	if !known {
		if len(l.hosts) >= maxFlows {
			clear(l.hosts)
		}
		host.Rate = kernel.Rate{PerSecond: hostCNPs, Burst: hostCNPs / 100}
	}
	took := host.Allow(now)
	l.hosts[to] = host
	return took && l.all.Allow(now)
}

// strictest returns the strictest hold that a flow is under, and the PFCM's alone.
func (s *Source) strictest(f *seen) (all, path enforce.Hold) {
	stricter := func(a, b enforce.Hold) enforce.Hold {
		switch {
		case b.Until == 0 || b.Measure && b.Rate == 0:
			return a
		case a.Until == 0 || b.Rate < a.Rate || b.Rate == a.Rate && b.Until > a.Until:
			return b
		}
		return a
	}
	m := f.matches()
	if out := f.learned.Packet.Out; out != sai.Null && s.k.Ports.Of(out) != nil {
		for i := range m[:2] {
			path = stricter(path, s.holds.Hold(kernel.Target{Port: out, Match: m[i]}))
		}
	}
	all = path
	for i := range m {
		if m[i].Kind != sai.HoldStream {
			all = stricter(all, s.holds.Hold(kernel.Target{Port: sai.Null, Match: m[i]}))
		}
	}
	return all, path
}

// follow brings the messages about a flow to the holds of now.
func (s *Source) follow(now int64, f *seen) {
	all, path := s.strictest(f)
	p := s.k.Ports.Of(f.learned.Packet.In)
	if p == nil || !p.Edge {
		s.passOn(now, f, p, path)
		all = enforce.Hold{}
	}
	to := &f.slowed
	switch {
	case all.Until <= now || !s.mayBeSlowed(f):
		if to.until != 0 {
			f.rate.restart(now)
		}
		to.until, to.due = 0, 0
		s.due.Remove(f)
		return
	case to.until == 0:
		f.rate.cut()
		to.steer.Begin(now, f.rate.free, p.Line(), all.Rate)
		f.rate.restart(now)
		to.advised = 0
	case all.Rate != to.rate:
		to.steer.Ask(all.Rate)
	}
	to.until, to.rate = all.Until, all.Rate
	s.slow(now, f)
	s.due.Put(f)
}

// mayBeSlowed reports whether the sender of a flow may be slowed, and counts the reason if not.
func (s *Source) mayBeSlowed(f *seen) bool {
	switch {
	case !kernel.Within(s.settings.Hosts, f.learned.Src):
		kernel.CountOnce(&f.slowed.counted, &s.k.Counters.CNPNotAllowed)
	case s.sender(f) == 0:
		kernel.CountOnce(&f.slowed.counted, &s.k.Counters.ClientQPUnknown)
	default:
		f.slowed.counted = false
		return true
	}
	return false
}

// sender returns the queue pair that a flow is sent from; 0: it was not learned.
func (s *Source) sender(f *seen) uint32 {
	if f.learned.SrcQP == 0 {
		f.learned.SrcQP = s.pairs.Find(f.learned.Pair).QP
	}
	return f.learned.SrcQP
}

// slow sends the message that is due to the sender of a flow, until its hold ends, and sets when the
// next one is.
func (s *Source) slow(now int64, f *seen) {
	session, to := f.learned.Session(), &f.slowed
	switch a := s.advice; {
	case s.settings.Advise && a != nil && a.Allows(&session):
		to.due = min(to.until, to.advised+int64(a.Pace.Interval))
		if to.advised == 0 || to.advised+int64(a.Pace.Interval) <= now {
			qp := session.SrcQP
			if a.Copy {
				qp = session.DstQP
			}
			rate := uint32(min(max(to.rate/1e6, uint64(a.Target.Min), 1), math.MaxUint32))
			s.k.Out.Advice(now, &session, qp, s.policies.Limit(rate, kernel.Addresses{Src: session.Src, Dst: session.Dst}, f.learned.DSCP, f.learned.Packet.Out), a.Receiver)
			to.advised, to.due = now, min(to.until, now+int64(a.Pace.Interval))
		}
	case !to.steer.Due(now):
		to.due = min(to.until, max(to.steer.Next(), now+1))
	case s.sendCNP(now, &session):
		to.due = min(to.until, to.steer.Next())
	default:
		to.due = min(to.until, now+int64(policedFor))
	}
}

// sendCNP sends a CNP to the sender of a session, within the limits of its host and of all.
func (s *Source) sendCNP(now int64, session *kernel.Session) bool {
	if !s.cnps.allow(now, session.Src) {
		s.k.Counters.CNPPoliced++
		return false
	}
	from := s.k.Out.Router(session.Src)
	if s.settings.Receiver {
		from = session.Dst
	}
	return s.k.Out.CNP(session, session.SrcQP, from)
}

// passOn asks the neighbor that a flow comes from for the hold that a downstream neighbor asks
// for, for no longer than that. It is asked again only when that neighbor has, so that holds in
// a loop die.
func (s *Source) passOn(now int64, f *seen, p *kernel.Port, h enforce.Hold) {
	at := &f.passed
	if h.Until <= now {
		if at.to != nil && now < at.until && s.k.Ports.ByIndex(at.to.Index) != nil {
			m := at.last
			m.Action, m.Time = notify.Cancel, 0
			s.k.Out.PFCM(at.to, m)
		}
		at.to = nil
		return
	}
	if p == nil || !p.Notify || !p.Reachable() || f.stream == 0 || at.until == h.Until && at.to == p {
		return
	}
	packet := &f.learned.Packet
	m := notify.PFCM{StreamID: f.stream, Action: notify.Pause, Time: uint16(min((h.Until-now)/int64(time.Microsecond), math.MaxUint16)), Source: packet.Src, Destination: packet.Dst}
	if h.Keep > 0 {
		m.Action = notify.Reduce(100 - int(h.Keep))
	}
	if m.Time == 0 {
		return
	}
	m.QueueID = uint8(s.holds.Queue(kernel.Target{Port: packet.Out, Match: f.matches()[0]}))
	if s.k.Out.AllowPFCM(now) && s.k.Out.PFCM(p, m) {
		*at = passed{p, m, h.Until}
	}
}
