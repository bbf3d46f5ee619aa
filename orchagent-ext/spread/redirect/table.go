// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"
)

// Flow is all packets of RoCEv2 with one 5-tuple. Queue pairs that share a source port are
// one flow, since tables of stock SONiC match up to the UDP ports.
type Flow struct {
	Src, Dst netip.Addr
	SrcPort  uint16
	VRF      string // that it comes in by; "": the default one
}

// String returns the 5-tuple as SRC/DST/PORT, and a VRF that is not the default one after it.
func (f Flow) String() string {
	s := fmt.Sprintf("%s/%s/%d", f.Src, f.Dst, f.SrcPort)
	if f.VRF != "" {
		s += "/" + f.VRF
	}
	return s
}

// compare orders flows, so that results are the same in every run.
func (f Flow) compare(g Flow) int {
	return cmp.Or(f.Src.Compare(g.Src), f.Dst.Compare(g.Dst), cmp.Compare(f.SrcPort, g.SrcPort), cmp.Compare(f.VRF, g.VRF))
}

// Moves are the conditions on which a flow may go to another member.
type Moves uint8

// When flows move.
const (
	MovesIdle  Moves = iota // while it is idle: its packets stay in order
	MovesAny                // at any time
	MovesNever              // rules that there are stay, and no other is made
)

// Config of a Table. Zero: the default.
type Config struct {
	Moves Moves

	PerLink int // rules to one member, at most; 8
	PerPort int // rules for flows that came in by one port, at most; 64
	Rules   int // at most; 256

	// Settle is how long shares are remembered: after it a share has decayed to 1/e; 2 s.
	Settle time.Duration

	// Threshold is how far above the mean the worst member may be, in parts of the mean; 0.02.
	Threshold float64

	// Forget is after how long without a sample a flow and its rule go; 30 s.
	Forget time.Duration

	// Flows is how many are observed at most. Further ones are by hash; 8192.
	Flows int
}

// fill sets zero fields to their defaults.
func (c *Config) fill() {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&c.PerLink, 8)
	set(&c.PerPort, 64)
	set(&c.Rules, 256)
	set(&c.Flows, 8192)
	if c.Settle == 0 {
		c.Settle = 2 * time.Second
	}
	if c.Threshold == 0 {
		c.Threshold = 0.02
	}
	if c.Forget == 0 {
		c.Forget = 30 * time.Second
	}
}

// Member is one next hop of the group.
type Member struct {
	Name   string  // of its netdev
	Weight float64 // its part of the traffic; 0: it is down, or lacks a neighbor
}

// Rule sends a flow to a member.
type Rule struct {
	Flow   Flow
	Member string
	Port   uint64 // that the flow came in by, as samples number it
}

// How sure the table is before a flow moves: the member that it goes to has to stay below the
// one that it leaves by so many standard deviations of the sampled load.
const sure = 1.5

// leastGain is the least that a move takes off the worst member, in parts of the mean: small
// flows are worth less than an entry.
const leastGain = 0.01

// A flow is idle after so many of its mean gaps between samples. Samples come at random: one
// in 22,000 such gaps is of a flow that still sends.
const idleGaps = 10

// leastIdle bounds that below: the time that packets wait in a switch and on a link.
const leastIdle = 5 * time.Millisecond

// refusalTime is how long a flow that the switch refused stays by hash.
const refusalTime = 10 * time.Second

// A rule has no effect where so many samples in a row left by another member, and it was decided so
// long ago. orchagent reports a rule active that the ASIC refused with SAI_STATUS_ITEM_ALREADY_EXISTS
// (AclRule::createRule).
const (
	astraySamples = 32
	astrayTime    = 10 * time.Second
)

// followed is one flow. Amounts decay together, with the table's clock.
type followed struct {
	flow   Flow
	port   uint64  // that it comes in by
	octets float64 // of samples, decayed
	square float64 // sum of the squares of these: the variance of octets
	count  float64 // of samples, decayed
	hash   int     // member that it has by hash; -1: not seen yet
	rule   int     // member that its rule sends it to; -1: it has none
	ruled  int64   // ns, when that was decided
	astray int     // samples since the last one that left by that member
	last   int64   // ns, of its last sample
	gap    float64 // ns between samples while it sends, averaged; 0: unknown
	cool   int64   // ns, before which it stays where it is
	denied bool    // until then because the switch refused its rule
}

// member is where the flow is, -1 where that is unknown.
func (f *followed) member() int {
	if f.rule >= 0 {
		return f.rule
	}
	return f.hash
}

// Table is the flows over one group of next hops.
type Table struct {
	cfg     Config
	members []Member
	flows   map[Flow]*followed
	at      int64 // ns, when amounts were decayed last
	held    func(Flow) bool
	full    int64 // ns, before which no rule is added: the switch has lack of room
	room    int   // rules that the switch takes beside those that there are
	counts  Counts
	stay    Obstacles // of the last decision
}

// Obstacles are the flows that would make loads more even by another member, by the reason for
// which they stay.
type Obstacles struct {
	Held    int
	Waiting int // they have to be idle, and send
	// the switch refused their rule within the last 10 s, or the rule of another flow for want of room
	Refused int
	Bounded int // by the most rules of a link, of a port or of the table
}

// add counts a flow.
func (o *Obstacles) add(why *int) {
	if why != nil {
		*why++
	}
}

// Counts are totals since the table was made.
type Counts struct {
	Moves      uint64 // changes of a flow's member by a rule
	Unsafe     uint64 // of these, of flows that were unknown to be idle
	Refused    uint64 // rules that the switch refused
	Unfollowed uint64 // samples of flows that lacked room
	Foreign    uint64 // samples that left by a port outside the group
	Astray     uint64 // rules that had no effect
}

// NewTable returns a table without members.
func NewTable(c Config) *Table {
	c.fill()
	return &Table{cfg: c, flows: map[Flow]*followed{}, room: math.MaxInt}
}

// SetMoves sets when flows move from now on. Rules, samples and counts stay.
func (t *Table) SetMoves(m Moves) { t.cfg.Moves = m }

// SetRoom sets how many more rules the switch takes than there are now.
func (t *Table) SetRoom(more int) { t.room = more }

// SetHeld sets which flows are held: they stay where they are, while that has a link. Their
// packets wait at one port, and later ones would pass them by another. nil: no flow is held.
func (t *Table) SetHeld(held func(Flow) bool) { t.held = held }

// isHeld reports whether a flow is held now. Without [Table.SetHeld] all are free.
func (t *Table) isHeld(f *followed) bool { return t.held != nil && t.held(f.flow) }

// SetMembers sets the next hops that the group has now. It returns whether rules changed: a
// rule goes with its member, and with a member whose weight is 0. The switch hashes again
// over other members, so that hash members are unknown until they are seen.
func (t *Table) SetMembers(members []Member) (changed bool) {
	if slices.Equal(t.members, members) {
		return false
	}
	at := make([]int, len(t.members)) // of each former member; -1: it cannot be used
	for i := range t.members {
		at[i] = slices.IndexFunc(members, func(m Member) bool { return m.Name == t.members[i].Name && m.Weight > 0 })
	}
	t.members = slices.Clone(members)
	for _, f := range t.flows {
		f.hash = -1
		if f.rule < 0 {
			continue
		}
		if f.rule = at[f.rule]; f.rule < 0 {
			changed = true
		}
	}
	return changed
}

// Members are the next hops.
func (t *Table) Members() []Member { return t.members }

// Sample notes a packet of a flow: the port that it came in by, the member that it left
// by ("" unknown), its octets, and when, in ns. Times must be monotonic.
func (t *Table) Sample(flow Flow, port uint64, link string, octets int, now int64) {
	f := t.flows[flow]
	if f == nil {
		if len(t.flows) >= t.cfg.Flows {
			t.counts.Unfollowed++
			return
		}
		f = &followed{flow: flow, hash: -1, rule: -1}
		t.flows[flow] = f
	}
	t.decay(now)
	if f.last > 0 {
		t.pace(f, float64(now-f.last))
	}
	f.port, f.last = port, now
	f.octets += float64(octets)
	f.square += float64(octets) * float64(octets)
	f.count++
	if link == "" {
		return
	}
	m := slices.IndexFunc(t.members, func(m Member) bool { return m.Name == link })
	switch {
	case m < 0:
		t.counts.Foreign++
	case f.rule < 0:
		f.hash = m
	case f.rule == m:
		f.astray = 0
	default:
		f.astray++
	}
}

// pace averages the gaps between the samples of a flow, without those in which it was idle.
func (t *Table) pace(f *followed, gap float64) {
	switch {
	case f.gap == 0:
		f.gap = gap
	case gap < idleGaps*f.gap+float64(leastIdle):
		f.gap += (gap - f.gap) / 16
	}
}

// decay lowers amounts to their values at a time. It is called for each sample, and works each
// hundredth of the time constant.
func (t *Table) decay(now int64) {
	passed := now - t.at
	if t.at != 0 && passed < int64(t.cfg.Settle)/100 {
		return
	}
	t.at = now
	if passed <= 0 || passed == now {
		return
	}
	by := math.Exp(-float64(passed) / float64(t.settle()))
	for _, f := range t.flows {
		f.octets *= by
		f.square *= by * by
		f.count *= by
	}
}

// settle is the time constant. Flows that move while they are idle are remembered over their
// pauses.
func (t *Table) settle() time.Duration {
	if t.cfg.Moves == MovesIdle {
		return 4 * t.cfg.Settle
	}
	return t.cfg.Settle
}

// idle reports whether a flow sends nothing now.
func (f *followed) idle(now int64) bool {
	return f.gap > 0 && float64(now-f.last) > idleGaps*f.gap+float64(leastIdle)
}

// Decide makes up to n changes of rules, and returns whether there was one. Rules has them.
// It is called a few times a second or more.
func (t *Table) Decide(now int64, n int) (changed bool) {
	t.decay(now)
	changed = t.forget(now)
	if t.cfg.Moves == MovesNever {
		return changed
	}
	for range n {
		t.stay = Obstacles{}
		if !t.improve(now) {
			return t.shorten(now) || changed
		}
		changed = true
	}
	return changed
}

// worthless is the least that a flow with a rule sends, in parts of the mean of members: a rule
// for less is removed.
const worthless = 0.001

// forget drops flows that were not seen for long, with their rules, the rules of flows that send
// next to nothing, and rules without effect.
func (t *Table) forget(now int64) (changed bool) {
	_, sum := t.loads()
	least := worthless * t.mean(sum)
	for key, f := range t.flows {
		if f.rule >= 0 && t.isHeld(f) {
			continue
		}
		if f.rule >= 0 && f.astray >= astraySamples && now-f.ruled > int64(astrayTime) {
			t.counts.Astray++
			t.Refused(key, false, now)
			changed = true
		}
		if f.rule >= 0 && f.octets < least && f.idle(now) {
			f.rule, changed = -1, true
		}
		if now-f.last <= int64(t.cfg.Forget) {
			continue
		}
		changed = changed || f.rule >= 0
		delete(t.flows, key)
	}
	return changed
}

// load is the load of one member, in octets of samples by weight, and its variance.
type load struct {
	octets, square float64
	rules          int
}

// loads returns the load of each member, and the sum of all.
func (t *Table) loads() (all []load, sum float64) {
	all = make([]load, len(t.members))
	for _, f := range t.flows {
		if f.rule >= 0 {
			all[f.rule].rules++
		}
		m := f.member()
		if m < 0 || t.members[m].Weight <= 0 {
			continue
		}
		all[m].octets += f.octets / t.members[m].Weight
		all[m].square += f.square / (t.members[m].Weight * t.members[m].Weight)
		sum += f.octets
	}
	return all, sum
}

// mean is the load of a member of weight 1 if all were even.
func (t *Table) mean(sum float64) float64 {
	weight := 0.0
	for i := range t.members {
		weight += t.members[i].Weight
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

// move is one way to make loads more even.
type move struct {
	flow *followed
	to   int
	gain float64 // of the worse of both members
	cost int     // entries that it takes: −1, 0 or 1
}

// improve makes the best move from the worst member, if there is one that is sure to help.
func (t *Table) improve(now int64) bool {
	loads, sum := t.loads()
	mean := t.mean(sum)
	worst := -1
	for i := range loads {
		if t.members[i].Weight > 0 && (worst < 0 || loads[i].octets > loads[worst].octets) {
			worst = i
		}
	}
	if worst < 0 || mean == 0 || loads[worst].octets <= mean*(1+t.cfg.Threshold) {
		return false
	}
	perPort, rules := t.used()
	best := move{}
	for _, f := range t.flows {
		if f.member() != worst {
			continue
		}
		can, stays := t.stays(f, now)
		var why *int
		for to := range loads {
			m, ok := t.consider(f, worst, to, loads, mean)
			switch {
			case !ok:
			case !can:
				why = stays
			case m.cost > 0 && (now < t.full || t.room <= 0):
				why = &t.stay.Refused
			case m.cost > 0 && (rules >= t.cfg.Rules || perPort[f.port] >= t.cfg.PerPort) || to != f.hash && loads[to].rules >= t.cfg.PerLink:
				why = &t.stay.Bounded
			case m.better(&best):
				best = m
			}
		}
		t.stay.add(why)
	}
	if best.flow == nil {
		return false
	}
	t.carry(best, now)
	return true
}

// stays reports whether a flow can move now, and where it cannot for more than the moment after
// a move which count of obstacles has it.
func (t *Table) stays(f *followed, now int64) (can bool, why *int) {
	switch {
	case t.isHeld(f):
		return false, &t.stay.Held
	case now < f.cool && f.denied:
		return false, &t.stay.Refused
	case now < f.cool:
		return false, nil
	case t.cfg.Moves == MovesIdle && !f.idle(now):
		return false, &t.stay.Waiting
	}
	return true, nil
}

// used are the rules by port, and all.
func (t *Table) used() (perPort map[uint64]int, all int) {
	perPort = map[uint64]int{}
	for _, f := range t.flows {
		if f.rule >= 0 {
			perPort[f.port]++
			all++
		}
	}
	return perPort, all
}

// consider weighs the move of a flow. The gain is the load that the worse of both members loses.
func (t *Table) consider(f *followed, from, to int, loads []load, mean float64) (m move, ok bool) {
	if to == from || t.members[to].Weight <= 0 {
		return m, false
	}
	less, more := f.octets/t.members[from].Weight, f.octets/t.members[to].Weight
	high, low := loads[from].octets, loads[to].octets
	m = move{flow: f, to: to, gain: high - max(high-less, low+more)}
	noise := math.Sqrt(loads[from].square + loads[to].square)
	if m.gain < leastGain*mean || high-low-more < sure*noise {
		return m, false
	}
	switch {
	case f.rule < 0:
		m.cost = 1
	case to == f.hash:
		m.cost = -1
	}
	return m, true
}

// nearly is how much of the best gain a move may have that takes fewer entries.
const nearly = 0.85

// better orders moves: by gain, and among those with nearly the same by entries; then by
// flow, so that equal tables decide alike.
func (m *move) better(best *move) bool {
	switch {
	case best.flow == nil:
		return true
	case m.cost < best.cost:
		return m.gain >= nearly*best.gain
	case m.cost > best.cost:
		return m.gain*nearly > best.gain
	case m.gain != best.gain:
		return m.gain > best.gain
	case m.flow != best.flow:
		return m.flow.flow.compare(best.flow.flow) < 0
	}
	return m.to < best.to
}

// carry notes a move. A flow that goes where its hash sends it needs no rule.
func (t *Table) carry(m move, now int64) {
	f := m.flow
	t.counts.Moves++
	if !f.idle(now) {
		t.counts.Unsafe++
	}
	f.cool, f.denied = now+int64(t.cfg.Settle)/2, false
	f.ruled, f.astray = now, 0
	if m.cost != 0 && t.room != math.MaxInt {
		t.room -= m.cost
	}
	if f.rule = m.to; m.to == f.hash {
		f.rule = -1
	}
}

// Rules are those that there are to be, in the same order for the same rules.
func (t *Table) Rules() (all []Rule) {
	for _, f := range t.flows {
		if f.rule >= 0 {
			all = append(all, Rule{f.flow, t.members[f.rule].Name, f.port})
		}
	}
	slices.SortFunc(all, func(a, b Rule) int { return a.Flow.compare(b.Flow) })
	return all
}

// Adopt takes over a rule that is on the switch, if the member takes flows and the bounds of
// rules leave room.
func (t *Table) Adopt(flow Flow, member string, now int64) {
	m := slices.IndexFunc(t.members, func(m Member) bool { return m.Name == member && m.Weight > 0 })
	loads, _ := t.loads()
	if _, rules := t.used(); m < 0 || t.flows[flow] != nil || rules >= t.cfg.Rules || loads[m].rules >= t.cfg.PerLink {
		return
	}
	t.flows[flow] = &followed{flow: flow, hash: -1, rule: m, ruled: now, last: now}
}

// Refused records that the switch has no entry for a flow: it is by hash for some time. full:
// the switch has no room for another rule.
func (t *Table) Refused(flow Flow, full bool, now int64) {
	t.counts.Refused++
	if f := t.flows[flow]; f != nil {
		f.rule, f.cool, f.denied = -1, now+int64(refusalTime), true
	}
	if full {
		t.full = now + int64(refusalTime)
	}
}

// Counts returns the totals.
func (t *Table) Counts() Counts { return t.counts }
