// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"math"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/kernel"
	sai "sluice/sai-shim"
)

const (
	// flows: a switch counts them in the place of holds, of which it may have 256
	maxLimited  = 64
	limitedIdle = time.Minute // after which a flow is forgotten
)

// limited is a flow for which there is a rate policy.
type limited struct {
	advice  congestion.Advice
	learned kernel.Learned
	limit   uint32 // Mbit/s
	// The switch counts octets from the begin of its counting hold; the times are
	// ns of CLOCK_MONOTONIC.
	octets   uint64 // counted at measured
	measured int64
	active   int64 // when it had a packet
	silent   int64 // until when the congestion of its queue decides
}

// match returns the match by which the switch counts the flow.
func (l *limited) match() sai.HoldMatch {
	return sai.HoldMatch{Kind: sai.HoldSession, Value: l.learned.DestQP, Src: l.learned.Src, Dst: l.learned.Dst}
}

// Holds are those in force.
type Holds interface {
	Holding(t kernel.Target) bool
}

// Limiter advises the senders of flows for which there is a rate policy (draft-zz section 5.1) while
// these are near their limit, congested or free. A flow is known by the packet path, which reports
// it, with its source queue pair where that is known; its octets are counted by the switch, whichever
// port it leaves by.
type Limiter struct {
	k        *kernel.Kernel
	sw       Switch
	holds    Holds
	settings *Settings // nil: it is disabled
	flows    kernel.Store[kernel.Pair, limited]
	due      int64 // when flows are measured next; [math.MaxInt64] without any
}

// NewLimiter returns a limiter, disabled.
func NewLimiter(k *kernel.Kernel, sw Switch, h Holds) *Limiter {
	return &Limiter{k: k, sw: sw, holds: h, flows: kernel.NewStore[kernel.Pair, limited](maxLimited), due: math.MaxInt64}
}

// Configure takes settings; nil disables it. Flows are known again with their next packet.
func (l *Limiter) Configure(s *Settings) {
	l.settings = s
	l.flows.Clear()
}

// Flows returns the number of flows with a policy.
func (l *Limiter) Flows() int { return l.flows.Len() }

// Learn takes a flow that was seen, where a policy is for it.
//
//conformance:draft-zz/policy
func (l *Limiter) Learn(now int64, seen *kernel.Learned) {
	s := l.settings
	if s == nil || len(s.Policies) == 0 || seen.SrcPort == 0 {
		return
	}
	if seen.SrcQP == 0 && !s.Copy {
		return // its sender is advised once its queue pair is known
	}
	rate := congestion.Lowest(s.Policies, seen.Src, seen.Dst, seen.DSCP)
	session, known := seen.Session(), l.flows.Get(seen.Pair)
	switch {
	case rate == 0 || !s.Allows(&session):
		l.flows.Remove(seen.Pair)
	case known != nil:
		known.learned, known.limit = *seen, rate
	case l.flows.Len() == maxLimited:
		l.k.Counters.LimitedFull++
	default:
		*l.flows.Add(seen.Pair) = limited{learned: *seen, limit: rate, measured: now, active: now}
		l.due = min(l.due, now)
	}
}

// Next returns when [Limiter.Step] has work, or at if that is earlier; ns.
func (l *Limiter) Next(at int64) int64 { return min(at, l.due) }

// Step measures the flows that are due and advises their senders.
func (l *Limiter) Step(now int64) {
	if l.due > now {
		return
	}
	if l.settings == nil || l.flows.Len() == 0 {
		l.flows.Clear()
		l.due = math.MaxInt64
		return
	}
	l.due = now + int64(l.settings.Pace.Interval)
	all := l.flows.All()
	for i := len(all) - 1; i >= 0; i-- { // an idle one is removed
		l.measure(now, all[i])
	}
}

// measure measures a flow since the last time, and advises its sender.
func (l *Limiter) measure(now int64, f *limited) {
	s, t := l.settings, kernel.Target{Port: sai.Null, Match: f.match()}
	if l.holds.Holding(t) { // a hold of the same packets: counting would end it
		return
	}
	state, err := l.sw.GetHold(sai.Null, t.Match)
	if state.Remaining < counting/2 && l.sw.SetHold(sai.Null, t.Match, counting, sai.RateCount) != nil {
		l.k.Counters.HoldFailed++
	}
	octets := state.Octets
	if err != nil {
		octets = 0
	}
	came := octets - min(f.octets, octets)
	span := now - f.measured
	f.octets, f.measured = octets, now
	switch {
	case came > 0:
		f.active = now
	case now-f.active > int64(limitedIdle):
		l.flows.Remove(f.learned.Pair)
	}
	// An interval of another length, such as the first, would give another rate.
	if span <= 0 || err != nil || now < f.silent || came*mbps/uint64(span)*100 < uint64(f.limit)*nearLimit {
		return
	}
	if f.advice.Send(now, f.limit, &s.Pace) {
		session, qp := f.learned.Session(), f.learned.SrcQP
		if s.Copy {
			qp = f.learned.DestQP
		}
		l.k.Out.Advice(now, &session, qp, f.limit, s.Receiver)
	}
}

// leave records that the congestion of its queue decides the advice for a flow.
func (l *Limiter) leave(now int64, s *kernel.Session) {
	if f := l.flows.Get(s.Pair()); f != nil {
		f.silent = now + 2*int64(l.settings.Pace.Interval)
	}
}
