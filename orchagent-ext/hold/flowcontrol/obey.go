// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// target is the object of a hold: packets that leave by a port.
type target struct {
	port  sai.ObjectID
	match sai.HoldMatch
}

// held is a target while something is held of it.
type held struct {
	target
	by enforce.Key // that held it first
	// about has the addresses in the message that held it first, since (ns) is when that
	// was, and asked is the hold that the switch was asked for last: zero before.
	about about
	since int64
	known bool   // packets have matched, here or by another member of the port
	wait  uint64 // messages that are obeyed once packets match
	asked enforce.Hold

	// interface index of the border port that its flow comes in by, which is paused by PFC; 0: not known
	border uint32

	// Of the heap of checks: index is the place there plus 1, 0 outside of it.
	at    int64 // when it is to be looked at
	index int
}

// about are the addresses of the flow that a message is about.
type about struct{ src, dst netip.Addr }

// when implements timed.
func (h *held) when() int64 { return h.at }

// place implements timed.
func (h *held) place() *int { return &h.index }

// How long after its begin a hold is looked at, for packets that match and for the rate
// of a flow that is to be reduced: a quarter of its time within these.
const (
	firstCheck = time.Millisecond
	lastCheck  = 10 * time.Millisecond
)

// ending is the time of a hold that is to run out now.
const ending = time.Microsecond

// receiveMessage takes a message that came in.
func (c *core) receiveMessage(now int64, m *packetio.Message) {
	if m.Packet.Kind == notify.KindPPFC || isPPFC(m.Err) {
		c.receivePPFC(now, m)
		return
	}
	c.counters.Received++
	if bad, ok := m.Err.(*notify.Error); ok { // errors.As would allocate
		c.counters.Refused[bad.Reason]++
		return
	}
	p := c.settings.indexes[m.Port]
	pfcm, e := &m.Packet.PFCM, &m.Packet.Envelope
	switch {
	case m.Packet.Kind != notify.KindPFCM || p == nil || !p.from(e.Src):
		c.counters.Sender++
	case !e.Dst.IsMulticast() && e.Dst != p.Self:
		c.counters.Refused[notify.BadDestination]++
	case !c.settings.Obey:
		c.counters.Off++
	case c.late(now, m.At, enforce.PFCMKey(pfcm, p.Neighbor, m.Port), enforce.OfPFCM(pfcm)):
		c.counters.Late++
	case !p.bucket.take(now) || !c.receive.take(now):
		c.counters.Policed++
	default:
		c.counters.Unverified += unverified(m, c.settings.Mark)
		c.obey(now, p, m.At, pfcm, enforce.PFCMKey(pfcm, p.Neighbor, m.Port))
	}
}

// late reports whether a message that the kernel had at a time (ns; 0: not known) has waited for
// longer than its hold was to last: for its sender that is over. One that shortens a hold is
// obeyed nonetheless.
func (c *core) late(now, at int64, k enforce.Key, d enforce.Demand) bool {
	return at != 0 && d.For > 0 && durationOf(now-at) >= d.For && now+int64(d.For) >= c.table.Until(k)
}

// unverified returns 1 for a message that has an authentication header, where the configuration asks for
// no mark of IPsec's: the kernel may have verified it, or has no key of it.
func unverified(m *packetio.Message, mark uint32) uint64 {
	if m.Packet.AH && mark == 0 {
		return 1
	}
	return 0
}

// obey begins or ends a hold of packets that leave by the port that the message came in
// by.
//
//conformance:draft-yang/components draft-yang/enforce
func (c *core) obey(now int64, p *port, at int64, m *notify.PFCM, k enforce.Key) {
	c.targets = c.targets[:0]
	for _, member := range p.Members {
		at := target{member, sai.HoldMatch{Kind: sai.HoldStream, Value: uint32(m.StreamID)}}
		c.targets = append(c.targets, enforce.Target[target]{Flow: at, Rate: c.rateOf(now, at), Share: c.share(p, at)})
	}
	outcome := c.demand(now, at, k, enforce.OfPFCM(m), about{m.Source, m.Destination})
	c.relay(now, k, outcome)
	switch outcome {
	case enforce.Full:
		c.counters.Full++
	case enforce.Ignored:
		c.counters.Ignored++
	case enforce.Held:
		c.counters.Held++
		c.await(&c.counters.Obeyed)
	case enforce.Refreshed:
		c.counters.Refreshed++
		c.await(&c.counters.Obeyed)
	default:
		c.counters.Obeyed++
	}
}

// share returns the rate of a target in bit/s where all that are held by its port, itself included,
// share that evenly.
func (c *core) share(p *port, at target) uint64 {
	flows := c.holding[at.port]
	if c.held.get(at) == nil {
		flows++
	}
	return p.line() / uint64(max(flows, 1))
}

// await counts a message about c.targets as obeyed: at once where packets have matched one of
// them, else when they do.
func (c *core) await(obeyed *uint64) {
	for i := range c.targets {
		if h := c.held.get(c.targets[i].Flow); h != nil && h.known {
			*obeyed++
			return
		}
	}
	for i := range c.targets { // a flow leaves by one member of a PortChannel
		if h := c.held.get(c.targets[i].Flow); h != nil {
			h.wait++
		}
	}
}

// matched notes that packets matched a hold: the messages that asked for it are obeyed, and those of
// the other members of its port with it.
func (c *core) matched(h *held) {
	wait := h.wait
	h.known, h.wait = true, 0
	if h.by.Kind == notify.KindPPFC {
		c.counters.PPFCObeyed += wait
		return
	}
	c.counters.Obeyed += wait
	p := c.settings.members[h.port]
	if p == nil {
		return
	}
	for _, member := range p.Members {
		if other := c.held.get(target{member, h.match}); other != nil {
			other.known, other.wait = true, 0
		}
	}
}

// isPPFC reports whether an error is of a PPFC.
func isPPFC(err error) bool {
	bad, ok := err.(*notify.Error)
	return ok && bad.Kind == notify.KindPPFC
}

// demand carries out a message's demand for c.targets. at is when the kernel received it.
func (c *core) demand(now, at int64, k enforce.Key, d enforce.Demand, a about) (outcome enforce.Outcome) {
	c.changes, outcome = c.table.Receive(c.changes[:0], now, k, d, c.targets)
	if outcome == enforce.Full || outcome == enforce.Ignored {
		return outcome
	}
	if outcome != enforce.Held {
		at = 0
	}
	for i := range c.changes {
		c.begin(now, &c.changes[i], k, a)
	}
	asked := len(c.changes)
	if c.apply(now, at, outcome == enforce.Ended) == asked && asked > 0 && outcome != enforce.Ended {
		return enforce.Full
	}
	return outcome
}

// begin notes by whom a target is held from now on.
func (c *core) begin(now int64, change *enforce.Change[target], k enforce.Key, a about) {
	if change.Hold.Until == 0 || c.held.get(change.Flow) != nil {
		return
	}
	h := c.held.add(change.Flow)
	*h = held{target: change.Flow, by: k, about: a, since: now}
	h.at = now + int64(min(max(durationOf(change.Hold.Until-now)/4, firstCheck), lastCheck))
	c.holding[h.port]++
	c.checks.put(h)
}

// apply does on the switch what has changed, and returns how many holds the switch refused:
// these are held by none then, and asked for again by the next message. at is when the message
// came that changed it; 0: it is not to be measured. room reports whether the neighbor has room for
// what waits. Without, a hold runs out: the switch sends what waits at the rate of the next queue.
func (c *core) apply(now, at int64, room bool) (refused int) {
	c.refused = c.refused[:0]
	for i := range c.changes {
		change := &c.changes[i]
		rate, d := change.Hold.Rate, durationOf(change.Hold.Until-now)
		switch {
		case change.Hold.Until == 0:
			rate, d = 0, ending
			if room {
				d = 0
			}
		case change.Hold.Measure && rate == 0:
			rate = sai.RateCount
		}
		h := c.held.get(change.Flow)
		over := change.Hold.Until == 0
		if over && h != nil {
			if !h.known {
				c.look(now, h)
			}
			if !h.known && h.by.Kind == notify.KindPPFC {
				c.counters.PPFCUnknown++
			} else if !h.known {
				c.counters.UnknownStream++
			}
			if h.asked.Measure {
				c.counters.Unmeasured++
			}
			c.drop(h)
			if !room && h.asked.Until <= now {
				continue // the switch has ended it
			}
		} else if h != nil {
			h.asked = change.Hold
		}
		err := c.hold(now, change.Flow, d, rate)
		if err != nil && (change.Flow.port == sai.Null || c.settings.members[change.Flow.port] != nil) {
			c.holdIs(now, err)
			if !over {
				c.refused = append(c.refused, change.Flow)
			}
			continue
		}
		if err == nil && !over {
			c.holdIs(now, nil)
		}
		if at != 0 && !over {
			took := elapsed(at, c.clock())
			if change.Flow.port == sai.Null { // whichever port: of a PPFC
				c.ppfcEnforce.Add(took)
			} else {
				c.enforce.Add(took)
			}
		}
	}
	c.counters.Watchdog, c.counters.PPFCWatchdog = c.table.Released[notify.KindPFCM], c.table.Released[notify.KindPPFC]
	for _, t := range c.refused {
		c.changes = c.table.Leave(c.changes[:0], now, t)
		if h := c.held.get(t); h != nil {
			c.drop(h)
		}
	}
	return len(c.refused)
}

// drop forgets a hold and keeps its memory for the next one.
func (c *core) drop(h *held) {
	c.held.remove(h.target)
	if c.holding[h.port]--; c.holding[h.port] == 0 {
		delete(c.holding, h.port)
	}
	c.checks.remove(h)
}

// look asks the switch whether packets have matched, and for how many octets.
func (c *core) look(now int64, h *held) (octets uint64) {
	state, err := c.holdState(now, h)
	if err != nil {
		return 0
	}
	if state.Packets > 0 && !h.known {
		c.matched(h)
	}
	return state.Octets
}

// check looks at a hold some time after it began: whether a flow has the Stream ID, and
// at which rate a flow that is to be reduced sends.
func (c *core) check(now int64, h *held) {
	octets := c.look(now, h)
	c.changes = c.changes[:0]
	switch {
	case h.asked.Measure && octets > 0:
		rate := octets * 8 * uint64(time.Second) / uint64(max(now-h.since, 1))
		c.changes = c.table.Measured(c.changes, now, h.target, max(rate, 1))
	case h.asked.Measure, !h.known && !c.settings.HoldPair:
		h.at = now + int64(lastCheck)
		c.checks.put(h)
		return
	case !h.known && h.match.Kind == sai.HoldStream:
		pair := target{h.port, sai.HoldMatch{Kind: sai.HoldPair, Src: h.about.src, Dst: h.about.dst}}
		k, a := h.by, h.about
		c.changes, _ = c.table.Join(c.changes, now, k, enforce.Target[target]{Flow: pair})
		for i := range c.changes {
			c.begin(now, &c.changes[i], k, a)
		}
		if all := c.held.get(pair); all != nil {
			all.wait, h.wait = all.wait+h.wait, 0
		}
	}
	c.checks.remove(h)
	c.apply(now, 0, false)
}

// holds returns the end of the pause under which a flow is held here; 0 for a free flow.
func (c *core) holds(now int64, f *congested) int64 {
	until := int64(0)
	for _, m := range f.matches() {
		if h := c.table.Hold(target{f.q.Port, m}); h.Until > now && h.Keep == 0 {
			until = max(until, h.Until)
		}
	}
	return until
}

// matches are those by which messages of a downstream neighbor hold a flow.
func (f *congested) matches() [2]sai.HoldMatch {
	return [...]sai.HoldMatch{{Kind: sai.HoldStream, Value: uint32(f.leaves.stream)}, {Kind: sai.HoldPair, Src: f.leaves.src, Dst: f.leaves.dst}}
}
