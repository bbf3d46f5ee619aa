// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"time"

	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// How long after its begin a hold is checked, for packets that match and for the rate
// of a flow that is to be reduced: a quarter of its time within these.
const (
	firstCheck = time.Millisecond
	lastCheck  = 10 * time.Millisecond
)

// ending is the time of a hold that is to run out now.
const ending = time.Microsecond

// begin records by whom a target is held from now on.
func (h *Holder) begin(now int64, change *enforce.Change[kernel.Target], k enforce.Key, about kernel.Addresses) {
	if change.Hold.Until == 0 || h.held.Get(change.Flow) != nil {
		return
	}
	one := h.held.Add(change.Flow)
	*one = held{Target: change.Flow, by: k, about: about, since: now}
	one.at = now + int64(min(max(time.Duration(change.Hold.Until-now)/4, firstCheck), lastCheck))
	h.perPort[one.Port]++
	h.checks.Put(one)
}

// end forgets a hold and keeps its memory for the next one.
func (h *Holder) end(one *held) {
	t := one.Target
	if h.perPort[t.Port]--; h.perPort[t.Port] == 0 {
		delete(h.perPort, t.Port)
	}
	h.checks.Remove(one)
	h.held.Remove(t)
	h.released.Released(t)
}

// apply sets the changed holds, and returns how many of them were refused: the next message
// sets these again. at is when the message
// came that changed it; 0: unmeasured. room reports whether the neighbor has room for the packets that
// wait. Otherwise a hold runs out: the switch sends them at the rate of the next queue.
func (h *Holder) apply(now, at int64, room bool) (refused int) {
	h.refused = h.refused[:0]
	for i := range h.changes {
		h.set(now, at, &h.changes[i], room)
	}
	h.k.Counters.Watchdog, h.k.Counters.PPFCWatchdog = h.table.Released[notify.KindPFCM], h.table.Released[notify.KindPPFC]
	for _, t := range h.refused {
		h.changes = h.table.Leave(h.changes[:0], now, t)
		if one := h.held.Get(t); one != nil {
			h.end(one)
		}
	}
	return len(h.refused)
}

// set sets a changed hold, and adds it to h.refused where that fails.
func (h *Holder) set(now, at int64, change *enforce.Change[kernel.Target], room bool) {
	rate, d, over := change.Hold.Rate, time.Duration(change.Hold.Until-now), change.Hold.Until == 0
	switch {
	case over && room:
		rate, d = 0, 0
	case over:
		rate, d = 0, ending
	case change.Hold.Measure && rate == 0:
		rate = sai.RateCount
	}
	if one := h.held.Get(change.Flow); one != nil && !over {
		one.set = change.Hold
	} else if one != nil {
		until := one.set.Until
		if h.finish(now, one); !room && until <= now {
			return // the switch has ended it
		}
	}
	err := h.settings.Enforcer.Hold(now, change.Flow, d, rate)
	if err != nil && (change.Flow.Port == sai.Null || h.k.Ports.Of(change.Flow.Port) != nil) {
		if h.k.HoldResult(now, err); !over {
			h.refused = append(h.refused, change.Flow)
		}
		return
	}
	if over {
		return
	}
	if err == nil {
		h.k.HoldResult(now, nil)
	}
	if at != 0 {
		took := kernel.Elapsed(at, h.k.Clock())
		if change.Flow.Port == sai.Null { // whichever port: of a PPFC
			h.EnforcedPPFC.Add(took)
		} else {
			h.Enforced.Add(took)
		}
	}
}

// finish ends a hold, and counts one without a packet that matched, or without a measured rate.
func (h *Holder) finish(now int64, one *held) {
	if !one.matched {
		h.readOctets(now, one)
	}
	if !one.matched && one.by.Kind == notify.KindPPFC {
		h.k.Counters.PPFCUnknown++
	} else if !one.matched {
		h.k.Counters.UnknownStream++
	}
	if one.set.Measure {
		h.k.Counters.Unmeasured++
	}
	h.end(one)
}

// readOctets reads for how many octets packets have matched.
func (h *Holder) readOctets(now int64, one *held) (octets uint64) {
	state, err := h.settings.Enforcer.Held(now, one.Target, one.since)
	if err != nil {
		return 0
	}
	if state.Packets > 0 && !one.matched {
		h.match(one)
	}
	return state.Octets
}

// match records that packets matched a hold: the messages that asked for it are obeyed, and those of
// the other members of its port with it.
func (h *Holder) match(one *held) {
	*h.obeyed(one.by.Kind) += one.waiting
	one.matched, one.waiting = true, 0
	p := h.k.Ports.Of(one.Port)
	if one.by.Kind == notify.KindPPFC || p == nil {
		return
	}
	for _, member := range p.Members {
		if other := h.held.Get(kernel.Target{Port: member, Match: one.Match}); other != nil {
			other.matched, other.waiting = true, 0
		}
	}
}

// check reads a hold some time after it began: whether a flow has the Stream ID, and
// at which rate a flow that is to be reduced sends.
func (h *Holder) check(now int64, one *held) {
	octets := h.readOctets(now, one)
	h.changes = h.changes[:0]
	switch {
	case one.set.Measure && octets > 0:
		rate := octets * 8 * uint64(time.Second) / uint64(max(now-one.since, 1))
		h.changes = h.table.Measured(h.changes, now, one.Target, max(rate, 1))
	case one.set.Measure, !one.matched && !h.settings.HoldPair:
		one.at = now + int64(lastCheck)
		h.checks.Put(one)
		return
	case !one.matched && one.Match.Kind == sai.HoldStream:
		h.addPair(now, one)
	}
	h.checks.Remove(one)
	h.apply(now, 0, false)
}

// addPair has all flows of the addresses held in place of an unknown Stream ID.
func (h *Holder) addPair(now int64, one *held) {
	pair := kernel.Target{Port: one.Port, Match: sai.HoldMatch{Kind: sai.HoldPair, Src: one.about.Src, Dst: one.about.Dst}}
	h.changes, _ = h.table.Join(h.changes, now, one.by, enforce.Target[kernel.Target]{Flow: pair})
	for i := range h.changes {
		h.begin(now, &h.changes[i], one.by, one.about)
	}
	if all := h.held.Get(pair); all != nil {
		all.waiting, one.waiting = all.waiting+one.waiting, 0
	}
}
