// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"time"

	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// Demand is the request of a message that was checked.
type Demand struct {
	enforce.Demand
	Key   enforce.Key
	About kernel.Addresses // of the flow
	// Port and Match have the packets: those that leave by a member of the port; nil: by any port.
	Port    *kernel.Port
	Match   sai.HoldMatch
	Unknown bool  // a switch cannot find its flow
	At      int64 // when the kernel had the message, ns; 0: unknown
}

// Late reports whether the message of a demand has waited for longer than its hold was to last: for its
// sender that is over. One that shortens a hold is obeyed nonetheless.
func (h *Holder) Late(now int64, d Demand) bool {
	return d.At != 0 && d.For > 0 && time.Duration(now-d.At) >= d.For && now+int64(d.For) >= h.table.Until(d.Key)
}

// Receive carries out a demand. [enforce.Full] is the outcome, too, where the switch refuses its
// holds: the next message sets them again.
//
//conformance:draft-yang/components draft-yang/enforce
func (h *Holder) Receive(now int64, d Demand) (outcome enforce.Outcome) {
	h.find(now, &d)
	h.changes, outcome = h.table.Receive(h.changes[:0], now, d.Key, d.Demand, h.targets)
	if outcome == enforce.Full || outcome == enforce.Ignored {
		return outcome
	}
	at := d.At
	if outcome != enforce.Held {
		at = 0
	}
	for i := range h.changes {
		h.begin(now, &h.changes[i], d.Key, d.About)
	}
	changed := len(h.changes)
	if h.apply(now, at, outcome == enforce.Ended) == changed && changed > 0 && outcome != enforce.Ended {
		return enforce.Full
	}
	return outcome
}

// find sets h.targets to those of a demand.
func (h *Holder) find(now int64, d *Demand) {
	h.targets = h.targets[:0]
	switch {
	case d.Unknown:
	case d.Port == nil:
		t := kernel.Target{Port: sai.Null, Match: d.Match}
		h.targets = append(h.targets, enforce.Target[kernel.Target]{Flow: t, Rate: h.settings.Enforcer.Rate(now, t)})
	default:
		for _, member := range d.Port.Members {
			t := kernel.Target{Port: member, Match: d.Match}
			h.targets = append(h.targets, enforce.Target[kernel.Target]{Flow: t, Rate: h.settings.Enforcer.Rate(now, t), Share: h.share(d.Port, t)})
		}
	}
}

// share returns the rate of a target in bit/s where all that are held by its port, itself included,
// share that evenly.
func (h *Holder) share(p *kernel.Port, t kernel.Target) uint64 {
	flows := h.perPort[t.Port]
	if h.held.Get(t) == nil {
		flows++
	}
	return p.Line() / uint64(max(flows, 1))
}

// CountObeyed counts the last message as obeyed: at once where packets have matched one of its targets,
// else when they do.
func (h *Holder) CountObeyed(kind notify.Kind) {
	for i := range h.targets {
		if one := h.held.Get(h.targets[i].Flow); one != nil && one.matched {
			*h.obeyed(kind)++
			return
		}
	}
	for i := range h.targets { // a flow leaves by one member of a PortChannel
		if one := h.held.Get(h.targets[i].Flow); one != nil {
			one.waiting++
		}
	}
}

// obeyed returns the counter of messages of a kind that are obeyed.
func (h *Holder) obeyed(kind notify.Kind) *uint64 {
	if kind == notify.KindPPFC {
		return &h.k.Counters.PPFCObeyed
	}
	return &h.k.Counters.Obeyed
}
