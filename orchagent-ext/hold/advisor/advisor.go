// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/kernel"
	sai "sluice/sai-shim"
)

// Settings are those of Rate Advice. Policies and hosts are immutable.
type Settings struct {
	// Who may receive it: senders that set a bit of Mask in BTH octet 4, by their packets alone; where
	// Mask is 0, these hosts.
	Mask     uint8
	Hosts    []netip.Prefix
	Copy     bool // it names the queue pair of the data packet, as the draft's text says
	Receiver bool // its IP source is the flow's receiver; otherwise the router id
	Hold     bool // a flow whose sender exceeds its advice is paced here, too
	Policies []congestion.Policy
	Target   congestion.Target // Port is filled in
	Pace     congestion.Pace
}

// Allows reports whether the sender of a session may receive advice.
//
//conformance:draft-zz/capable
func (s *Settings) Allows(of *kernel.Session) bool {
	if s.Mask != 0 {
		return of.Bits&s.Mask != 0
	}
	return kernel.Within(s.Hosts, of.Src)
}

// Switch counts and paces flows.
type Switch interface {
	SetHold(port sai.ObjectID, m sai.HoldMatch, d time.Duration, rate uint64) error
	GetHold(port sai.ObjectID, m sai.HoldMatch) (sai.HoldState, error)
}

// Queues has the flows that are watched.
type Queues interface {
	// AddBacklog adds each watched flow of a queue to a backlog.
	AddBacklog(queue sai.ObjectID, b *Backlog)
}

// counting is for how long the switch is asked to count a flow.
const counting = time.Second

// nearLimit is the share of a policy's rate from which on a flow's sender is advised of
// it, in percent.
const nearLimit = 90

// Advisor advises the senders of congested flows.
type Advisor struct {
	k        *kernel.Kernel
	pairs    *kernel.Pairs
	sw       Switch
	queues   Queues
	limiter  *Limiter
	settings *Settings // nil: it is disabled
	backlogs map[sai.ObjectID]Backlog
	backlog  Backlog // scratch
	hosts    *rtt.Table
}

// New returns an advisor, disabled. The limiter is silent about flows that this one advises.
func New(k *kernel.Kernel, pairs *kernel.Pairs, sw Switch, l *Limiter) *Advisor {
	return &Advisor{k: k, pairs: pairs, sw: sw, limiter: l, backlogs: map[sai.ObjectID]Backlog{}, hosts: rtt.NewHosts()}
}

// OfQueues has backlogs read from queues. It is to be called before the first signal.
func (a *Advisor) OfQueues(q Queues) { a.queues = q }

// Configure takes settings; nil disables it.
func (a *Advisor) Configure(s *Settings) {
	a.settings = s
	clear(a.backlogs)
}

// AppendHosts appends the round-trip times to hosts, by their reactions to advice.
func (a *Advisor) AppendHosts(hosts []rtt.Host) []rtt.Host { return a.hosts.AppendHosts(hosts) }

// Signal begins to measure a flow at an alarm or stop, where its sender may be advised.
func (a *Advisor) Signal(now int64, f *kernel.Flow, of *Flow, s congestion.Signal) {
	if a.settings == nil || s != congestion.Stop && s != congestion.Alarm || of.due != 0 || !f.Session.RDMA {
		return
	}
	if !a.settings.Allows(&f.Session) {
		kernel.CountOnce(&of.refused, &a.k.Counters.AdviceNotAllowed)
		return
	}
	of.match = sai.HoldMatch{Kind: sai.HoldSession, Value: f.Session.DstQP, Src: f.Session.Src, Dst: f.Session.Dst}
	of.before, of.depth, of.measured = sai.HoldState{}, f.State.Octets(), now
	of.due = now + int64(a.settings.Pace.Interval)
	a.count(now, f, of)
	if state, err := a.sw.GetHold(f.Queue.Port, of.match); err == nil {
		of.before = state
	}
}

// Measure measures a flow whose depth in the queue is octets, and advises its sender of
// the rate that fits: the lower one of its congestion's and its policy's.
//
//conformance:draft-zz/policy draft-zz/queue
func (a *Advisor) Measure(now int64, f *kernel.Flow, of *Flow, octets uint64) {
	s := a.settings
	of.due = now + int64(s.Pace.Interval)
	a.count(now, f, of)
	m, ok := a.measure(now, f, of, octets)
	if !ok {
		return
	}
	if took, ok := of.effect.Came(now, int64(s.Pace.Interval), m.Came); ok {
		a.hosts.Add(f.Session.Src, took, rtt.Advice, now)
	}
	rate := a.rate(now, f, of, m)
	a.limiter.leave(now, &f.Session, f.Queue.Port)
	if rate == 0 {
		if !f.State.Congested() && !f.State.Alarmed() {
			a.End(f, of)
		}
		return
	}
	qp := f.Session.DstQP
	if !s.Copy {
		if qp = a.pairs.Sender(&f.Session); qp == 0 {
			kernel.CountOnce(&of.unknown, &a.k.Counters.AdviceQPUnknown)
			return
		}
	}
	if of.advice.Send(now, rate, &s.Pace) {
		of.effect.Advised(now, m.Came, rate)
		a.k.Out.Advice(now, &f.Session, qp, rate, s.Receiver)
	}
}

// rate returns the rate in Mbit/s to advise the sender of a flow; 0: none. It counts a sender that
// begins to exceed its advice.
func (a *Advisor) rate(now int64, f *kernel.Flow, of *Flow, m congestion.Measured) uint32 {
	s, target := a.settings, a.settings.Target
	if p := a.k.Ports.Of(f.Queue.Port); p != nil {
		target.Port = p.Speed
	}
	target.Limit = a.limiter.limit(kernel.Addresses{Src: f.Session.Src, Dst: f.Session.Dst}, f.DSCP, f.Queue.Port)
	rate := of.advice.Congestion(now, f.State.Congested(), m, &target, &s.Pace)
	if followed := of.advice.Follows(); !of.advice.Follow(now, m.Came, &s.Pace) && followed {
		a.k.Counters.AdviceNotFollowing++
	}
	if rate == 0 && target.Limit != 0 && uint64(m.Rate)*100 >= uint64(target.Limit)*nearLimit {
		return target.Limit
	}
	return rate
}

// End ends the measuring of a flow; the last advice runs out.
func (a *Advisor) End(f *kernel.Flow, of *Flow) {
	if of.due == 0 {
		return
	}
	of.due = 0
	if of.counted != 0 {
		of.counted = 0
		_ = a.sw.SetHold(f.Queue.Port, of.match, 0, 0) // it ends by itself, too
	}
}

// AdviseClient advises the sender of a session, whose queue pair is qp, of a rate in Mbit/s or that of
// its policies, if that is lower, where Rate Advice is enabled and the sender may receive it.
//
//conformance:draft-zz/remote draft-zz/capable
func (a *Advisor) AdviseClient(now int64, s kernel.Session, qp, rate uint32) {
	if a.settings == nil || !a.settings.Allows(&s) {
		a.k.Counters.AdviceNotAllowed++
		return
	}
	if a.settings.Copy {
		qp = s.DstQP
	}
	dscp, out := uint8(congestion.AnyDSCP), sai.Null
	if known := a.pairs.Find(s.Pair()); known.Seen {
		dscp, out = known.DSCP, known.Out
	}
	a.k.Out.Advice(now, &s, qp, a.limiter.Limit(rate, kernel.Addresses{Src: s.Src, Dst: s.Dst}, dscp, out), a.settings.Receiver)
}

// NamesReceiver reports whether advice has the queue pair of the data packet.
func (a *Advisor) NamesReceiver() bool { return a.settings != nil && a.settings.Copy }
