// SPDX-License-Identifier: Apache-2.0

package downstream

import (
	"time"

	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
)

// obstacle returns the counter of the reason why the neighbor of a flow cannot be notified; nil
// if it can.
func (n *Notifier) obstacle(f *kernel.Flow, p *kernel.Port) *uint64 {
	c := &n.k.Counters
	switch {
	case f.Nameless == kernel.IsIPv4:
		return &c.IPv4
	case f.Nameless == kernel.IsRelabelled:
		return &c.Relabelled
	case f.Nameless == kernel.IsUnreadable || p == nil:
		return &c.Unreadable
	case n.border.Translates(p):
		return nil
	case !p.Notify:
		return &c.Host
	case !p.Reachable():
		return &c.NoNeighbor
	}
	return nil
}

// holdsUntil returns the end of the pause under which a flow is held here; 0 for a free flow.
func (n *Notifier) holdsUntil(now int64, f *kernel.Flow) int64 {
	until := int64(0)
	for _, m := range f.Matches() {
		if h := n.holds.Hold(kernel.Target{Port: f.Queue.Port, Match: m}); h.Until > now && h.Keep == 0 {
			until = max(until, h.Until)
		}
	}
	return until
}

// deriveFrom returns the time of a request (µs), bounded by the end of a hold here; 0 where the hold
// was last refreshed before the last message.
//
//conformance:draft-yang/recursion
func (r *Request) deriveFrom(now, until int64, us uint16) uint16 {
	switch until {
	case 0:
		r.derived = 0
		return us
	case r.derived:
		return 0
	}
	r.derived = until
	return uint16(min(int64(us), (until-now)/int64(time.Microsecond)))
}

// isRefreshed reports whether the next refresh of a flow's request may be left to those of other flows with
// its key: one of them was sent in the last quarter of the time that it asks for. This flow's turn comes
// again after half of it, so the neighbor is asked a quarter before it would go on. A request that is
// derived from a hold here has no such turn, and has to be sent for the whole time.
func (n *Notifier) isRefreshed(now int64, f *kernel.Flow, r *Request, action notify.Action, us uint16) bool {
	if !r.Open() {
		return false
	}
	all := n.requests.Of(r.request.Key())
	if !r.request.Repeats(r.key(f), action) || all.Flows == 1 {
		return false
	}
	less := us / 4
	if r.derived != 0 {
		less = 1 // by which the time was rounded
	}
	if !all.Covers(now, action, us, less) {
		return false
	}
	r.until = all.Until
	return true
}
