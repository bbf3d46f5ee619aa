// SPDX-License-Identifier: Apache-2.0

package source

import (
	"time"

	"sluice/orchagent-ext/hold/advisor"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/host/clock"
	sai "sluice/sai-shim"
)

// Holds are those in force.
type Holds interface {
	Hold(t kernel.Target) enforce.Hold
	Queue(t kernel.Target) uint16
}

// Policies are the rates that the operator set for flows.
type Policies interface {
	Limit(rate uint32, of kernel.Addresses, dscp uint8, out sai.ObjectID) uint32
}

// Source holds flows at their senders.
type Source struct {
	k        *kernel.Kernel
	pairs    *kernel.Pairs
	holds    Holds
	policies Policies
	settings *Settings         // nil: it is disabled
	advice   *advisor.Settings // nil: senders get CNPs
	seed     uint32            // of Stream IDs

	flows flows // without memory before the first settings
	due   clock.Heap[*seen]
	cnps  limits
}

// New returns a source, disabled.
func New(k *kernel.Kernel, pairs *kernel.Pairs, h Holds, p Policies) *Source {
	return &Source{k: k, pairs: pairs, holds: h, policies: p}
}

// Configure takes settings; nil disables it. Senders are advised by advice where that is not nil.
func (s *Source) Configure(of *Settings, advice *advisor.Settings, seed uint32) {
	s.settings, s.advice, s.seed = of, advice, seed
	if of != nil && s.flows.byPair == nil {
		s.flows, s.cnps = newFlows(), newLimits()
	}
	if of == nil {
		s.release()
	}
}

// release ends the holds of flows that are still slowed: those that one target has too many of.
func (s *Source) release() {
	for {
		f, ok := s.due.First()
		if !ok {
			return
		}
		f.slowed.until, f.slowed.due = 0, 0
		s.due.Remove(f)
	}
}

// Flows returns the number of flows that were seen lately.
func (s *Source) Flows() int { return len(s.flows.byPair) }

// Learn takes a packet that the CPU had of a flow.
func (s *Source) Learn(now int64, l *kernel.Learned) {
	if !s.settings.Slows(s.k.Ports, l) {
		return
	}
	f := s.flows.byPair[l.Pair]
	if f == nil {
		if f = s.flows.add(now, l); f == nil {
			s.k.Counters.SeenFull++
			return
		}
	}
	qp := f.learned.SrcQP
	f.learned, f.at = *l, now
	if f.learned.SrcQP == 0 {
		f.learned.SrcQP = qp
	}
	s.flows.setStream(f, pathStream(s.seed, &l.Packet))
	s.measure(now, f)
	s.follow(now, f)
}

// measure measures the rate at which a flow arrives, where its samples suffice.
func (s *Source) measure(now int64, f *seen) {
	at := f.learned.Packet.At
	if at == 0 {
		at = now
	}
	to := &f.slowed
	switch {
	case at <= f.rate.begun: // it was on the way when the rate changed
		return
	case to.until == 0 && !to.steer.Recovered(at):
		f.rate.since = 0
		return
	}
	rate, ok := f.rate.add(at, &f.learned.Packet)
	switch {
	case !ok:
		return
	case to.until == 0:
		f.rate.average(at - f.rate.since)
	case !to.steer.Measured(now, rate, f.rate.samples):
		return // too soon after the last one: the window goes on
	}
	f.rate.next(at)
	if ignores := to.steer.Ignores(); ignores != to.ignores {
		if to.ignores = ignores; ignores {
			s.k.Counters.CNPNotFollowing++
		}
	}
}

// Hold holds the flows of a target by their senders. It implements [holder.Enforcer]; d and rate are
// those of the holds that it reads.
func (s *Source) Hold(now int64, t kernel.Target, _ time.Duration, _ uint64) error {
	s.each(now, t, func(f *seen) { s.follow(now, f) })
	return nil
}

// Held returns how many flows of a target are slowed, and the octets that they had at their rates
// before since (ns).
func (s *Source) Held(now int64, t kernel.Target, since int64) (state sai.HoldState, err error) {
	s.each(now, t, func(f *seen) {
		state.Packets++
		state.Octets += f.rate.free / 8 * uint64(now-since) / uint64(time.Second)
	})
	return state, nil
}

// Rate returns the rate in bit/s at which the flows of a target arrive; 0: unknown.
func (s *Source) Rate(now int64, t kernel.Target) (rate uint64) {
	s.each(now, t, func(f *seen) { rate += f.rate.free })
	return rate
}

// each calls a function with each flow of a target that is slowed or had a packet lately, of
// those that were seen first lately.
func (s *Source) each(now int64, t kernel.Target, call func(*seen)) {
	f, list := s.flows.first(&t.Match)
	for n := 0; f != nil; f, n = f.next[list], n+1 {
		if n == maxOfTarget {
			s.k.Counters.SeenFull++
			return
		}
		if f.isOf(t) && (f.slowed.until != 0 || f.passed.to != nil || now-f.at <= int64(recent)) {
			call(f)
		}
	}
}

// Next returns when [Source.Step] has work, or at if that is earlier; ns.
func (s *Source) Next(at int64) int64 {
	if f, ok := s.due.First(); ok {
		at = min(at, f.slowed.due)
	}
	return at
}

// Step sends the messages that are due to senders, and ends holds that are over.
func (s *Source) Step(now int64) {
	for {
		f, ok := s.due.First()
		if !ok || f.slowed.due > now {
			return
		}
		s.follow(now, f)
	}
}

// AppendIgnoring appends sessions whose senders ignore CNPs, those that there is room for.
func (s *Source) AppendIgnoring(all []kernel.Pair) []kernel.Pair {
	for pair, f := range s.flows.byPair {
		if f.slowed.ignores && len(all) < cap(all) {
			all = append(all, pair)
		}
	}
	return all
}
