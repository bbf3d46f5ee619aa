// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sluice/orchagent-ext/switch/engine"
)

// admission decides which flows get one of a bounded number of entries. Each port
// has a share: all entries by the number of ports with flows. While there is room any
// flow gets an entry that was seen twice. Once it is full, a flow of a port within its
// share takes the entry of an idle flow, or else of the lightest one, of the port that
// has most; a flow of another port takes that of an idle flow of its own port. So the
// flows of one port leave the entries of ports within their share alone, and those of
// flows that send, unless the port of these has more than its share.
type admission struct {
	capacity int // entries
	// entries that the switch had room for when it last refused one; 0: it has not
	room   int
	roomAt time.Time // when that was

	refusedCapacity, refusedSwitch, evicted uint64
	refusedAt                               time.Time
	refusedPort                             string // the last one
	refusedLimit                            int    // entries that there could be then
	loggedAt                                time.Time

	computed bool // the switch labels flows that lack an entry, too
}

// portFlows are the flows of a port.
type portFlows struct {
	flows  []*flowSeen
	hand   int     // where the next victim is looked for
	tokens float64 // evictions
	filled time.Time

	// times that a flow has to be seen to take the entry of another; 0: lightTimes
	need   uint32
	needAt time.Time // when that changed
}

const (
	// a flow that was seen less often gets an entry only while a quarter of them is free
	lightTimes = 4

	// after which an entry that no packet has met may go for another flow
	idleUnused = 500 * time.Millisecond
	idleLeast  = 2 * time.Second // after which one may go whose flow has sent nothing
	idleGaps   = 2               // and this times the longest pause that the flow has made

	victims       = 128 // flows that are looked at for one
	evictionRate  = 256 // a second and port
	evictionBurst = 256

	// a flow that was seen so often takes part whatever the others are
	mostTimes = 256
	moreTimes = 100 * time.Millisecond // after which twice as often may be asked for
	lessTimes = 10 * time.Second       // and half as often

	roomTime    = 10 * time.Second // for which a switch that had lack of room is believed
	refusalTime = 10 * time.Second // for which a refusal is a warning
)

// join adds a flow to those of the port that it came in by.
func (l *Entries) join(s *flowSeen, port string) {
	p := l.ports[port]
	if p == nil {
		p = &portFlows{tokens: evictionBurst}
		l.ports[port] = p
	}
	s.port, s.place = port, len(p.flows)
	p.flows = append(p.flows, s)
}

// part removes a flow from those of its port; the last one of these takes its place.
func (l *Entries) part(s *flowSeen) {
	p := l.ports[s.port]
	last := len(p.flows) - 1
	p.flows[s.place] = p.flows[last]
	p.flows[s.place].place = s.place
	p.flows[last] = nil
	p.flows = p.flows[:last]
}

// limit is how many entries there may be now.
func (l *Entries) limit(now time.Time) int {
	if l.room > 0 && now.Sub(l.roomAt) < roomTime {
		return min(l.room, l.capacity)
	}
	return l.capacity
}

// full notes that the switch has room for the entries that there are, and refused more.
func (l *Entries) full(refused int, port string, now time.Time) {
	l.room, l.roomAt = max(1, len(l.seen)), now
	l.refusedSwitch += uint64(refused)
	l.refusedAt, l.refusedPort, l.refusedLimit = now, port, min(l.room, l.capacity)
}

// offer decides whether a flow that came in by port, and was seen so many times, gets an
// entry. victim is the flow that is to lose its own; nil: there is room.
func (l *Entries) offer(port string, times uint32, count counter, now time.Time) (victim *flowSeen, admit bool) {
	limit := l.limit(now)
	free := limit - len(l.seen)
	if times < lightTimes && free <= limit/4 {
		return nil, false // if it is a flow, it is seen again
	}
	if free > 0 {
		return nil, true
	}
	if victim = l.victim(port, times, limit, count, now); victim == nil {
		l.refusedCapacity++
		l.refusedAt, l.refusedPort, l.refusedLimit = now, port, limit
		return nil, false
	}
	l.evicted++
	return victim, true
}

// victim returns the flow that loses its entry for one of a port; nil: all keep theirs.
func (l *Entries) victim(port string, times uint32, limit int, count counter, now time.Time) *flowSeen {
	mine := l.ports[port]
	if mine == nil {
		mine = &portFlows{tokens: evictionBurst}
		l.ports[port] = mine
	}
	if !mine.mayEvict(times, now) {
		return nil
	}
	ports, most := 1, mine // with flows; the one with most
	for name, p := range l.ports {
		if name != port && len(p.flows) > 0 {
			ports++
		}
		if len(p.flows) > len(most.flows) {
			most = p
		}
	}
	from, within := mine, len(mine.flows) < limit/ports
	if within {
		from = most
	}
	s := l.idlest(from, count, now)
	if s == nil && within && from != mine {
		s = from.lightest()
	}
	if s != nil {
		mine.tokens--
	}
	return s
}

// mayEvict reports whether a flow that was seen so many times may take an entry now.
func (p *portFlows) mayEvict(times uint32, now time.Time) bool {
	if !p.filled.IsZero() {
		p.tokens = min(evictionBurst, p.tokens+evictionRate*max(0, now.Sub(p.filled).Seconds()))
	}
	p.filled = now
	p.need = max(p.need, lightTimes)
	if p.tokens >= evictionBurst/2 && now.Sub(p.needAt) > lessTimes {
		p.need, p.needAt = max(p.need/2, lightTimes), now
	}
	if times < p.need {
		return false
	}
	if p.tokens < 1 && now.Sub(p.needAt) > moreTimes {
		p.need, p.needAt = min(2*p.need, mostTimes), now
	}
	return p.tokens >= 1
}

// next yields some flows of a port, others at the next call.
func (p *portFlows) next(yield func(*flowSeen) bool) {
	for range min(victims, len(p.flows)) {
		p.hand = (p.hand + 1) % len(p.flows)
		if !yield(p.flows[p.hand]) {
			return
		}
	}
}

// idlest returns the flow of some that has been idle for longest, those first whose entry
// still waits for its first packet. nil: all are busy.
func (l *Entries) idlest(p *portFlows, count counter, now time.Time) *flowSeen {
	var idle []*flowSeen
	for s := range p.next {
		if s.idle(now) {
			idle = append(idle, s)
		}
	}
	slices.SortFunc(idle, func(a, b *flowSeen) int {
		return cmp.Or(cmp.Compare(min(a.packets, 1), min(b.packets, 1)), a.at.Compare(b.at), cmp.Compare(a.packets, b.packets))
	})
	for _, s := range idle {
		if l.read(s, count, now); s.idle(now) { // its counter was read some time ago
			return s
		}
	}
	return nil
}

// idle reports whether the entry of a flow may go for another one.
func (s *flowSeen) idle(now time.Time) bool {
	if s.packets == 0 {
		return now.Sub(s.at) > idleUnused
	}
	return now.Sub(s.at) > max(idleLeast, idleGaps*s.gap)
}

// lightest is the flow of some that sends least.
func (p *portFlows) lightest() (light *flowSeen) {
	for s := range p.next {
		if light == nil || s.rate < light.rate {
			light = s
		}
	}
	return light
}

// excess are the flows that are more than the capacity allows, after it was lowered:
// of the ports that have most, the idle and the light ones.
func (l *Entries) excess(now time.Time) (flows []engine.FlowEntry) {
	over := len(l.seen) - l.capacity
	if over <= 0 {
		return nil
	}
	take := map[*portFlows]int{}
	for range over {
		var most *portFlows
		for _, p := range l.ports {
			if most == nil || len(p.flows)-take[p] > len(most.flows)-take[most] {
				most = p
			}
		}
		take[most]++
	}
	for p, n := range take {
		order := slices.SortedFunc(slices.Values(p.flows), func(a, b *flowSeen) int {
			return cmp.Or(compareBool(b.idle(now), a.idle(now)), cmp.Compare(a.rate, b.rate), a.at.Compare(b.at))
		})
		for _, s := range order[:n] {
			flows = append(flows, unlabelled(s.FlowEntry))
		}
	}
	for _, f := range flows {
		l.remove(f)
	}
	return flows
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	if a == b {
		return 0
	}
	if b {
		return -1
	}
	return 1
}

// Warning returns a warning of flows that lack a label for want of an entry; "": all have one.
func (l *Entries) Warning(now time.Time) string {
	if l.refusedAt.IsZero() || now.Sub(l.refusedAt) > refusalTime {
		return ""
	}
	port := l.refusedPort
	if port == "" {
		port = "an unknown port"
	}
	without := "flows have no label"
	if l.computed {
		without = "flows have the label of the hash, and not one that is chosen"
	}
	if limit := l.refusedLimit; limit < l.capacity {
		return fmt.Sprintf(without+": the switch has room for %d entries of flow_capacity=%d of SLUICE|global; last refused: a flow of %s", limit, l.capacity, port)
	}
	return fmt.Sprintf(without+": the %d entries of flow_capacity of SLUICE|global are in use, and no flow with one is idle; last refused: a flow of %s, which has %d",
		l.capacity, port, l.has(l.refusedPort))
}

// has returns how many flows that came in by a port have an entry.
func (l *Entries) has(port string) int {
	if p := l.ports[port]; p != nil {
		return len(p.flows)
	}
	return 0
}
