// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"sluice/orchagent-ext/hold/enforce"
	sai "sluice/sai-shim"
)

// A border node that receives a PFCM translates it for the port that the held flow comes in
// by (draft-yang section 3.4): with the queue and the time of the message. The switch names
// that port once packets of the flow wait here above the mark of their queue; until then
// there is room for them, and the neighbor may go on.

// forward translates the messages by which a congested flow is held, where it comes in by a
// border port. It reports whether there are such messages.
//
//conformance:draft-yang/pfc
func (c *core) forward(now int64, f *congested) (held bool) {
	p := c.settings.members[f.in]
	if p == nil || !p.Border || !c.settings.Translate {
		return false
	}
	for _, match := range f.matches() {
		h := c.held.get(target{f.q.Port, match})
		if h == nil {
			continue
		}
		held = true
		// messages about pairs are not relayed as they come
		if h.border != p.Index || match.Kind != sai.HoldStream {
			h.border = p.Index
			c.pauseBorder(now, h)
		}
	}
	if held {
		c.translate(now)
	}
	return held
}

// relay passes a message on that has changed holds of c.targets, to the border ports by which
// their flows come in.
func (c *core) relay(now int64, k enforce.Key, outcome enforce.Outcome) {
	switch outcome {
	case enforce.Ended:
		c.pauses.Receive(now, k, enforce.Demand{Verb: enforce.End}, 0)
	case enforce.Held, enforce.Refreshed:
		for i := range c.targets {
			if h := c.held.get(c.targets[i].Flow); h != nil && h.border != 0 {
				c.pauseBorder(now, h)
			}
		}
	default:
		return
	}
	c.translate(now)
}

// pauseBorder asks for PFC for as long as each message holds a target.
//
//conformance:draft-yang/pfc-queue draft-yang/pfc-quanta
func (c *core) pauseBorder(now int64, h *held) {
	c.inForce = c.table.On(c.inForce[:0], h.target)
	for i := range c.inForce {
		d := &c.inForce[i]
		if d.Until <= now {
			continue
		}
		if !c.pauses.Receive(now, d.Key, enforce.Demand{Verb: enforce.Limit, Keep: d.Keep, For: durationOf(d.Until - now)}, h.border) {
			c.counters.NotTranslated++
		}
	}
}
