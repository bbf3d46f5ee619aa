// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"math"
	"time"

	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/kernel"
	sai "sluice/sai-shim"
)

// Flow is the state of a flow whose sender gets advice. The zero value is a flow before its first signal.
type Flow struct {
	advice   congestion.Advice
	due      int64 // when the flow is measured next; 0: its sender gets no advice
	measured int64 // when it was measured last
	// At the last measurement: the switch's counters of the flow, and octets of it in
	// the queue.
	before  sai.HoldState
	depth   uint64
	left    float64 // Mbit/s at which the flow left, averaged over some intervals
	came    float64 // and at which it arrived, without the octets that were dropped
	effect  rtt.Reaction
	match   sai.HoldMatch
	counted int64  // as long the switch counts the flow
	pace    uint64 // bit/s at which the switch sends it on meanwhile, or [sai.RateCount]
	refused bool   // counted as one whose sender may not be advised
	unknown bool   // counted as one whose queue pair is unknown
}

// Due returns when the flow is measured next, ns; 0: never.
func (f *Flow) Due() int64 { return f.due }

// Queued returns those of a flow's octets that wait in its queue, without those in the hold that paces it:
// no other flow waits for these.
func (f *Flow) Queued(octets uint64) uint64 {
	if f.due == 0 {
		return octets
	}
	return octets - min(f.before.WaitingOctets, octets)
}

// State returns the advice in force in Mbit/s, 0: none, and whether the sender follows it.
func (a *Advisor) State(now int64, f *Flow) (rate uint32, follows bool) {
	if a.settings == nil {
		return 0, true
	}
	return f.advice.Rate(now, &a.settings.Pace), f.advice.Follows()
}

// count has the switch count the flow's octets for some time more, and pace the flow by
// the advice that its sender exceeds, where that is configured.
func (a *Advisor) count(now int64, f *kernel.Flow, of *Flow) {
	pace := uint64(sai.RateCount)
	if s := a.settings; s.Hold && !of.advice.Follows() {
		if advised := of.advice.Rate(now, &s.Pace); advised != 0 {
			pace = uint64(advised) * 1e6
		}
	}
	if now+int64(counting)/2 < of.counted && pace == of.pace {
		return
	}
	err := a.sw.SetHold(f.Queue.Port, of.match, counting, pace)
	if a.k.HoldResult(now, err); err != nil {
		return
	}
	of.counted, of.pace = now+int64(counting), pace
}

// smooth is over how many intervals the rate of a flow is averaged: in one interval it is
// off by the packets at both ends.
const smooth = 4

// mbps converts octets a ns to Mbit/s.
const mbps = 8 * 1000

// measure returns the measurements of a flow since the last call; octets is its present
// depth in the queue.
//
// Octets that left are those that came, less the growth of the queue and those that were dropped: here by
// the hold that paces the flow, or by the queue where the switch counts that.
//
//conformance:draft-zz/queue
func (a *Advisor) measure(now int64, f *kernel.Flow, of *Flow, octets uint64) (m congestion.Measured, ok bool) {
	state, err := a.sw.GetHold(f.Queue.Port, of.match)
	if err != nil || now <= of.measured {
		return m, false
	}
	since := func(now, before uint64) uint64 { return now - min(before, now) }
	came, lost := since(state.Octets, of.before.Octets), since(state.DroppedPackets, of.before.DroppedPackets)
	left := came + of.depth - min(octets, came+of.depth)
	dropped := uint64(0) // octets
	if packets := since(state.Packets, of.before.Packets); packets > 0 {
		dropped = min(left, came*lost/packets)
	}
	left -= dropped
	rate := func(octets uint64) float64 { return float64(octets*mbps) / float64(now-of.measured) }
	m.Rate, m.Came = uint32(rate(left)), uint32(rate(came))
	m.Depth, m.Lost = octets, lost > 0
	of.left += (rate(left) - of.left) / smooth
	of.came += (rate(came-min(dropped, came)) - of.came) / smooth
	of.before, of.depth, of.measured = state, octets, now
	b := a.backlogOf(now, f.ID.Queue)
	m.Flows, m.Advised = max(b.flows, 1), uint32(min(b.advised, math.MaxUint32))
	m.Fair, m.Most = b.shares()
	if p := a.k.Ports.Of(f.Queue.Port); p != nil && p.Speed != 0 {
		m.Fair = min(m.Fair, p.Speed/uint32(m.Flows))
		m.Delay = time.Duration(b.octets * mbps / uint64(p.Speed))
	}
	return m, true
}

// Backlog is the backlog of the watched flows of a queue, summed up: flows with octets there, and octets
// of all of them.
type Backlog struct {
	pace   *congestion.Pace
	at     int64 // ns
	flows  int
	octets uint64

	measured   uint64  // octets of the flows that the switch counts
	rate, most float64 // Mbit/s: at which those leave, and at which the largest arrives
	other      uint64  // octets of the largest of the rest
	advised    uint64  // Mbit/s, of the advice in force to all of them
}

// Add adds a flow that has so many octets in the queue.
func (b *Backlog) Add(f *Flow, octets uint64) {
	b.advised += uint64(f.advice.Rate(b.at, b.pace))
	if octets = f.Queued(octets); octets == 0 {
		return
	}
	b.flows++
	b.octets += octets
	if f.due == 0 {
		b.other = max(b.other, octets)
		return
	}
	b.measured += octets
	b.rate += f.left
	b.most = max(b.most, f.came)
}

// shares returns the rate at which each flow would leave if all got the same, and that of
// the flow that has most, in Mbit/s; 0, 0: both are unknown. Flows that the switch leaves out of its
// counts leave by their share of the queue.
func (b *Backlog) shares() (fair, most uint32) {
	if b.measured == 0 || b.flows == 0 {
		return 0, 0
	}
	octet := b.rate / float64(b.measured)
	return uint32(math.Round(octet * float64(b.octets) / float64(b.flows))), uint32(max(b.most, octet*float64(b.other)))
}

// backlogOf returns the backlog of a queue, not older than half an interval.
func (a *Advisor) backlogOf(now int64, queue sai.ObjectID) Backlog {
	b := a.backlogs[queue]
	if b.at != 0 && now-b.at < int64(a.settings.Pace.Interval)/2 {
		return b
	}
	a.backlog = Backlog{at: now, pace: &a.settings.Pace}
	a.queues.AddBacklog(queue, &a.backlog)
	a.backlogs[queue] = a.backlog
	return a.backlog
}
