// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"maps"
	"time"

	"sluice/orchagent-ext/spread/nexthops"
)

// Times of a neighbor that was lost: it takes flows again after it has been there for firstHold, doubled
// with each further loss up to longestHold. It is forgotten that it was lost when it has stayed for
// forgiveness.
const (
	watchEvery  = 100 * time.Millisecond
	firstHold   = time.Second
	longestHold = time.Minute
	forgiveness = 5 * time.Minute
)

// neighbor is a next hop that was lost.
type neighbor struct {
	lost  bool
	since time.Time     // that it is lost, or back
	hold  time.Duration // for which it has to be back
}

// damper keeps flows off next hops whose neighbors come and go.
type damper map[NextHop]*neighbor

// see records whether a neighbor is there, and returns whether its next hop takes flows.
func (d damper) see(to NextHop, there bool, now time.Time) bool {
	n := d[to]
	switch {
	case n == nil && there:
		return true
	case n == nil:
		n = &neighbor{hold: firstHold}
		d[to] = n
		n.lost, n.since = true, now
	case !there && !n.lost:
		n.lost, n.since, n.hold = true, now, min(2*n.hold, longestHold)
	case there && n.lost:
		n.lost, n.since = false, now
	case there && now.Sub(n.since) >= forgiveness:
		delete(d, to)
	}
	return there && now.Sub(n.since) >= n.hold
}

// hops are the next hops that the switch lacks.
type hops struct {
	damper
	at      time.Time // when the switch was asked
	refused map[NextHop]time.Time
	off     map[NextHop]bool // those that take no flow
}

// refusedTime is how long a next hop takes no flow after the switch refused a rule to it for want of it.
const refusedTime = time.Second

// look asks a switch about next hops, now and then. It returns whether others take flows than before.
// Where the switch does not answer, they are as they were.
func (h *hops) look(sw Switch, all []NextHop, now time.Time) (changed bool) {
	if since := now.Sub(h.at); len(all) == 0 || since >= 0 && since < watchEvery {
		return false
	}
	h.at = now
	var neighbors, ports map[NextHop]bool
	if w, is := sw.(Watcher); is {
		var err error
		if neighbors, ports, err = w.Lacking(all); err != nil {
			return false
		}
	}
	off := map[NextHop]bool{}
	for _, to := range all {
		refused, was := h.refused[to]
		if was && now.Sub(refused) >= refusedTime {
			delete(h.refused, to)
			was = false
		}
		if !h.see(to, !neighbors[to] && !was, now) || ports[to] {
			off[to] = true
		}
	}
	changed = !maps.Equal(off, h.off)
	h.off = off
	return changed
}

// refuse records that the switch refused a rule for want of its next hop.
func (h *hops) refuse(to NextHop, now time.Time) {
	h.refused[to] = now
	h.at = time.Time{}
}

// takes reports whether packets can go by a member: it is alive, with a neighbor.
func (h *hops) takes(m *nexthops.Member) bool {
	return !m.Dead && !m.Unresolved && !m.NoCarrier && !h.off[NextHop{Address: m.Gateway, Port: m.Link}]
}

// membersOf are the members of a table. The weight of one that takes no flow is 0.
func (h *hops) membersOf(all []nexthops.Member) []Member {
	members := make([]Member, len(all))
	for i := range all {
		members[i] = Member{Name: all[i].Link, Weight: float64(all[i].Weight)}
		if !h.takes(&all[i]) {
			members[i].Weight = 0
		}
	}
	return members
}
