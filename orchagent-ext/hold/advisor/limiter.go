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
	sharing     = time.Second // for which a flow without a packet keeps its part of a port
)

// limited is a flow for which there is a rate policy.
type limited struct {
	advice  congestion.Advice
	learned kernel.Learned
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

// share is what a policy has of a port.
type share struct {
	policy int // its place
	port   sai.ObjectID
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
	shares   map[share]int // flows that share it
	due      int64         // when flows are measured next; [math.MaxInt64] without any
}

// NewLimiter returns a limiter, disabled.
func NewLimiter(k *kernel.Kernel, sw Switch, h Holds) *Limiter {
	return &Limiter{k: k, sw: sw, holds: h, flows: kernel.NewStore[kernel.Pair, limited](maxLimited), shares: make(map[share]int, maxLimited), due: math.MaxInt64}
}

// Configure takes settings; nil disables it. Flows are known again with their next packet.
func (l *Limiter) Configure(s *Settings) {
	l.settings = s
	l.flows.Clear()
	clear(l.shares)
}

// limit returns the rate in Mbit/s that policies allow a flow between two hosts; 0: none is for it. dscp is that of its packets,
// or [congestion.AnyDSCP]; out is the port of the switch that they leave by, or [sai.Null]: then policies that are a
// part of a port do not count.
//
//conformance:draft-zz/policy
func (l *Limiter) limit(of kernel.Addresses, dscp uint8, out sai.ObjectID) uint32 {
	speed := uint32(0)
	if p := l.k.Ports.Of(out); p != nil {
		speed = p.Speed
	}
	return congestion.Lowest(l.settings.Policies, of.Src, of.Dst, dscp, speed, func(i int) int { return l.shares[share{i, out}] })
}

// Limit returns the lower one of a rate and that of the policies for a flow between two hosts, in Mbit/s: no advice
// exceeds a policy (draft-zz section 5.1, the rate upper limit of a flow). dscp and out are as limit has
// them. Rate Advice is to be enabled.
//
//conformance:draft-zz/policy
func (l *Limiter) Limit(rate uint32, of kernel.Addresses, dscp uint8, out sai.ObjectID) uint32 {
	if limit := l.limit(of, dscp, out); limit != 0 {
		return min(rate, limit)
	}
	return rate
}

// divide counts the flows that share a part of a port.
func (l *Limiter) divide(now int64) {
	clear(l.shares)
	for _, f := range l.flows.All() {
		of := &f.learned
		if of.Packet.Out == sai.Null || now-f.active > int64(sharing) {
			continue
		}
		for i := range l.settings.Policies {
			if p := &l.settings.Policies[i]; p.Percent != 0 && p.Matches(of.Src, of.Dst, of.DSCP) {
				l.shares[share{i, of.Packet.Out}]++
			}
		}
	}
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
	session, known := seen.Session(), l.flows.Get(seen.Pair)
	switch {
	case !congestion.Match(s.Policies, seen.Src, seen.Dst, seen.DSCP) || !s.Allows(&session):
		l.flows.Remove(seen.Pair)
	case known != nil:
		out := known.learned.Packet.Out
		if known.learned = *seen; seen.Packet.Out == sai.Null {
			known.learned.Packet.Out = out
		}
	case l.flows.Len() == maxLimited:
		l.k.Counters.LimitedFull++
	default:
		*l.flows.Add(seen.Pair) = limited{learned: *seen, measured: now, active: now}
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
	l.divide(now)
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
	session, qp := f.learned.Session(), f.learned.SrcQP
	limit := l.limit(kernel.Addresses{Src: session.Src, Dst: session.Dst}, f.learned.DSCP, f.learned.Packet.Out)
	if span <= 0 || err != nil || now < f.silent || limit == 0 || came*mbps/uint64(span)*100 < uint64(limit)*nearLimit {
		return
	}
	if f.advice.Send(now, limit, &s.Pace) {
		if s.Copy {
			qp = f.learned.DestQP
		}
		l.k.Out.Advice(now, &session, qp, limit, s.Receiver)
	}
}

// leave records that the congestion of its queue decides the advice for a flow, and the port of that, which
// samples may lack.
func (l *Limiter) leave(now int64, s *kernel.Session, out sai.ObjectID) {
	if f := l.flows.Get(s.Pair()); f != nil {
		f.silent = now + 2*int64(l.settings.Pace.Interval)
		f.learned.Packet.Out = out
	}
}
