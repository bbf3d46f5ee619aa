// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/spread/nexthops"
)

// Network returns the next hops to destinations.
type Network interface {
	// They are those of the routes of a VRF; "": of the default one.
	Groups(vrf string, dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error)

	// Uncarried returns those of some netdevs, by their indexes, that lack a carrier, sooner than
	// their next hops are dead.
	Uncarried(indexes []int) (map[int]bool, error)
}

// Times of a Redirector.
const (
	decideEvery = 100 * time.Millisecond
	readEvery   = 10 * time.Second       // next hops are read, though no news of them came
	newEvery    = 200 * time.Millisecond // destinations that are new are read
	retryEvery  = time.Second            // after a switch or a network that failed
	keepEvery   = time.Second            // rules are compared with those on the switch
)

// refusalShown is how long a refusal is reported. A flow whose rule was refused is tried again
// after 10 s.
const refusalShown = 20 * time.Second

// noBound is the room of a switch that does not know it.
const noBound = math.MaxInt

// atOnce is how many rules change in one decision: the next one sees their effect.
const atOnce = 4

// mostDestinations bounds the destinations that are known: flows to others stay by hash.
const mostDestinations = 4096

// longestName is how long the name of a group may be.
const longestName = 64

// Holds are the flows that flow control holds.
type Holds interface {
	// Held returns which flows are held now: these stay. nil: that is unknown, and all flows stay.
	Held() func(Flow) bool
}

// Redirector places flows by rules to next hops. It is for one goroutine.
type Redirector struct {
	cfg Config
	net Network
	sw  Switch
	log *slog.Logger

	Holds Holds // nil: all flows are free

	groups map[string]*group
	dests  map[destination]*group // nil: its route has no group that flows are placed over
	fresh  bool                   // a destination is new
	stale  bool                   // next hops may have changed

	clock  moment
	readAt time.Time
	err    error // of the last reading, or of the last change of rules

	earlier  earlier
	onSwitch []Entry // as they were asked for last
	decideAt time.Time
	failedAt time.Time
	keptAt   time.Time
	hops     hops
	work     work
	refusal  refusal
}

// earlier are the rules of an earlier process.
type earlier struct {
	known bool
	left  []Entry // those whose groups are yet to be read
}

// waits reports whether rules wait for their groups.
func (e *earlier) waits() bool { return len(e.left) > 0 }

// refusal is why the switch refused a rule last.
type refusal struct {
	by error // nil: it has not, or that is too long ago
	at time.Time
}

// note records a refusal.
func (r *refusal) note(why error, now time.Time) { r.by, r.at = why, now }

// expire forgets one that is no longer reported.
func (r *refusal) expire(now time.Time) {
	if now.Sub(r.at) > refusalShown {
		r.by = nil
	}
}

// destination is an address in a VRF.
type destination struct {
	vrf string
	dst netip.Addr
}

// destinationOf returns the address that a flow goes to, in the VRF of the flow.
func destinationOf(f *Flow) destination { return destination{f.VRF, f.Dst} }

// compare orders destinations by VRF, and then by address.
func (d destination) compare(e destination) int {
	return cmp.Or(strings.Compare(d.vrf, e.vrf), d.dst.Compare(e.dst))
}

// group is a group of next hops with its table of flows.
type group struct {
	name    string
	table   *Table
	members []nexthops.Member
}

// New returns a Redirector without rules.
func New(c Config, n Network, s Switch, log *slog.Logger) *Redirector {
	return &Redirector{cfg: c, net: n, sw: s, log: log, groups: map[string]*group{}, dests: map[destination]*group{}, clock: moment{elapsed: 1}, hops: hops{damper: damper{}, refused: map[NextHop]time.Time{}}}
}

// SetMoves sets when flows move from now on. Rules and counts stay.
func (r *Redirector) SetMoves(m Moves) {
	r.cfg.Moves = m
	for _, g := range r.groups {
		g.table.SetMoves(m)
	}
}

// Sample notes a packet: its flow, the port that it came in by, the netdev that it leaves by
// ("" unknown), and its octets.
func (r *Redirector) Sample(f Flow, port uint64, link string, octets int, now time.Time) {
	to := destinationOf(&f)
	g, known := r.dests[to]
	if !known && len(r.dests) < mostDestinations {
		r.dests[to], r.fresh = nil, true
	}
	if g != nil {
		g.table.Sample(f, port, link, octets, r.clock.at(now))
	}
}

// Stale records that next hops may have changed. The next poll reads them.
func (r *Redirector) Stale() { r.stale = true }

// Poll reads next hops where they may have changed, decides, and changes rules. It is called
// when there is news, and every 20 ms or so. Rules that are on the switch at the first call
// stay as long as the network is not known, and then where they lead to a live next hop.
func (r *Redirector) Poll(now time.Time) error {
	if !r.earlier.known {
		if err := r.adopt(now); err != nil {
			return err
		}
	}
	changed := r.refresh(now)
	changed = r.lookAtHops(now) || changed
	if r.earlier.waits() {
		return nil
	}
	// Rules to a dead link go alone: others would be made before them.
	if due := now.Sub(r.decideAt) >= decideEvery || now.Before(r.decideAt); due && !r.work.pending && !changed {
		r.decideAt = now
		changed = r.decide(now)
	}
	again := !r.failedAt.IsZero() && now.Sub(r.failedAt) >= retryEvery
	keep := r.failedAt.IsZero() && (now.Sub(r.keptAt) >= keepEvery || now.Before(r.keptAt))
	if changed || again || keep || r.work.pending {
		return r.carryOut(now)
	}
	return nil
}

// decide has each table decide, and reports whether rules changed.
func (r *Redirector) decide(now time.Time) (changed bool) {
	var held func(Flow) bool
	if r.Holds != nil {
		if held = r.Holds.Held(); held == nil {
			return false
		}
	}
	room := noBound
	if b, is := r.sw.(Bounded); is {
		if more, known := b.Room(); known {
			room = more
		}
	}
	for _, g := range r.groups {
		g.table.SetRoom(room)
		g.table.SetHeld(held)
		before := g.table.Counts().Astray
		changed = g.table.Decide(r.clock.at(now), atOnce) || changed
		if n := g.table.Counts().Astray - before; n > 0 {
			r.refusal.note(fmt.Errorf("rules have no effect on the switch: samples of %d flows leave by other links", n), now)
			r.log.Warn("rules are removed", "group", g.name, "error", r.refusal.by)
		}
	}
	return changed
}

// adopt reads the rules of an earlier process.
func (r *Redirector) adopt(now time.Time) error {
	if !r.failedAt.IsZero() && now.Sub(r.failedAt) < retryEvery {
		return r.err
	}
	left, err := r.sw.Adopt()
	if err != nil {
		r.err, r.failedAt = fmt.Errorf("read the rules on the switch: %w", err), now
		return r.err
	}
	r.earlier, r.onSwitch, r.err, r.failedAt = earlier{true, left}, left, nil, time.Time{}
	for i := range left {
		r.dests[destination{left[i].VRF, left[i].Dst}] = nil
	}
	r.stale = len(left) > 0
	return nil
}

// takeOver gives tables the rules of an earlier process. Those that lead to no live next hop of
// the flow's route go.
func (r *Redirector) takeOver(now time.Time) {
	for i := range r.earlier.left {
		l := &r.earlier.left[i]
		g := r.dests[destinationOf(&l.Flow)]
		if g == nil || !slices.ContainsFunc(g.members, func(m nexthops.Member) bool { return m.Link == l.To.Port && m.Gateway == l.To.Address }) {
			continue
		}
		g.table.Adopt(l.Flow, l.To.Port, r.clock.at(now))
	}
	r.earlier.left = nil
}

// refresh reads the next hops. It reports whether rules changed by that.
func (r *Redirector) refresh(now time.Time) (changed bool) {
	if r.lostCarrier() {
		return true // next hops are read afterwards, since that takes its time
	}
	since := now.Sub(r.readAt)
	if r.err != nil && since >= 0 && since < retryEvery {
		return false
	}
	if !r.stale && since < readEvery && (!r.fresh || since < newEvery) && since >= 0 {
		return false
	}
	dsts := slices.SortedFunc(maps.Keys(r.dests), destination.compare)
	r.readAt = now
	if len(dsts) == 0 {
		r.stale, r.fresh = false, false
		return false
	}
	results, err := r.read(dsts)
	if err != nil {
		r.err = fmt.Errorf("read next hops: %w", err)
		r.stale = true // next hops that are unknown hold no rule
		return false
	}
	r.err, r.stale, r.fresh = nil, false, false
	changed = r.regroup(dsts, results)
	if r.earlier.waits() {
		r.takeOver(now)
		return true
	}
	return changed
}

// read returns the next hops to destinations, which are in the order of their VRFs.
func (r *Redirector) read(all []destination) (map[destination]nexthops.Result, error) {
	results := make(map[destination]nexthops.Result, len(all))
	for len(all) > 0 {
		vrf, dsts := all[0].vrf, []netip.Addr(nil)
		for len(all) > 0 && all[0].vrf == vrf {
			dsts, all = append(dsts, all[0].dst), all[1:]
		}
		groups, err := r.net.Groups(vrf, dsts)
		if err != nil {
			return nil, err
		}
		for dst, g := range groups {
			results[destination{vrf, dst}] = g
		}
	}
	return results, nil
}

// lostCarrier takes flows off links that rules lead to and that have lost their carrier since next
// hops were read: the switch drops their packets already. It reports whether rules changed.
// Where reading fails, carriers are those of the last reading.
func (r *Redirector) lostCarrier() (changed bool) {
	ports := map[string]bool{}
	for i := range r.onSwitch {
		ports[r.onSwitch[i].To.Port] = true
	}
	var indexes []int
	for _, g := range r.groups {
		for i := range g.members {
			if m := &g.members[i]; ports[m.Link] && r.hops.takes(m) && !slices.Contains(indexes, m.Index) {
				indexes = append(indexes, m.Index)
			}
		}
	}
	if len(indexes) == 0 {
		return false
	}
	down, err := r.net.Uncarried(indexes)
	if err != nil || len(down) == 0 {
		r.stale = r.stale || err != nil
		return false
	}
	r.stale = true
	for _, g := range r.groups {
		g.members = slices.Clone(g.members) // groups may share them with what was read
		for i := range g.members {
			g.members[i].NoCarrier = g.members[i].NoCarrier || down[g.members[i].Index]
		}
		changed = g.table.SetMembers(r.hops.membersOf(g.members)) || changed
	}
	return changed
}

// lookAtHops takes flows off next hops that the switch lacks, and reports whether rules changed.
func (r *Redirector) lookAtHops(now time.Time) (changed bool) {
	var all []NextHop
	for _, g := range r.groups {
		for i := range g.members {
			if to := (NextHop{Address: g.members[i].Gateway, Port: g.members[i].Link}); !slices.Contains(all, to) {
				all = append(all, to)
			}
		}
	}
	if !r.hops.look(r.sw, all, now) {
		return false
	}
	for _, g := range r.groups {
		changed = g.table.SetMembers(r.hops.membersOf(g.members)) || changed
	}
	return changed
}

// regroup gives destinations the groups that they have now. Of a route that is another one,
// the rules go.
func (r *Redirector) regroup(dsts []destination, results map[destination]nexthops.Result) (changed bool) {
	wanted := map[string]*group{}
	for _, dst := range dsts {
		var members []nexthops.Member
		if g := results[dst].Group; g != nil && placeable(g.Members) {
			members = g.Members
		}
		if members == nil {
			changed = changed || r.dests[dst] != nil
			r.dests[dst] = nil
			continue
		}
		name := nameOf(members)
		g := wanted[name]
		if g == nil {
			if g = r.groups[name]; g == nil {
				g = &group{name: name, table: NewTable(r.cfg)}
				changed = true
			}
			wanted[name] = g
			g.members = members
			changed = g.table.SetMembers(r.hops.membersOf(members)) || changed
		}
		changed = changed || r.dests[dst] != nil && r.dests[dst] != g
		r.dests[dst] = g
	}
	r.groups = wanted
	return changed
}

// placeable reports whether flows can be placed over next hops: several, each with an address
// and a netdev of its own.
func placeable(members []nexthops.Member) bool {
	links := map[string]bool{}
	for i := range members {
		if !members[i].Gateway.IsValid() || links[members[i].Link] {
			return false
		}
		links[members[i].Link] = true
	}
	return len(members) > 1
}

// nameOf names a group by its netdevs and gateways: with others it is another group.
func nameOf(members []nexthops.Member) string {
	links := make([]string, len(members))
	whole := make([]string, len(members))
	for i := range members {
		links[i] = members[i].Link
		whole[i] = members[i].Link + "@" + members[i].Gateway.String()
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(whole, ","))) // always succeeds
	name := strings.Join(links, ",")
	if len(name) > longestName-9 {
		name = fmt.Sprintf("%s+%d", links[0], len(links)-1)
	}
	return fmt.Sprintf("%s#%08x", name, h.Sum32())
}

// carryOut brings the rules of all tables to the switch.
func (r *Redirector) carryOut(now time.Time) error {
	var want []Entry
	tables := map[Flow]*Table{}
	for _, name := range slices.Sorted(maps.Keys(r.groups)) {
		g := r.groups[name]
		for _, rule := range g.table.Rules() {
			to := slices.IndexFunc(g.members, func(m nexthops.Member) bool { return m.Link == rule.Member })
			if r.dests[destinationOf(&rule.Flow)] != g || to < 0 {
				continue
			}
			want = append(want, Entry{rule.Flow, NextHop{Address: g.members[to].Gateway, Port: rule.Member}})
			tables[rule.Flow] = g.table
		}
	}
	r.refusal.expire(now)
	r.work.begin(differences(r.onSwitch, want), time.Now())
	answer, err := r.sw.Redirect(want)
	r.work.end(answer.Progress, time.Now())
	r.keptAt = now
	r.onSwitch = want
	for i := range want {
		flow := want[i].Flow
		why, refused := answer.Refused[flow]
		if !refused {
			continue
		}
		if r.refusal.by == nil {
			r.log.Warn("the switch refuses a rule: its flow stays by hash", "rule", flow, "error", why.Err)
		}
		r.refusal.note(why.Err, now)
		if why.NoNextHop { // its flow may have another one
			r.hops.refuse(want[i].To, now)
			continue
		}
		tables[flow].Refused(flow, why.Full, r.clock.at(now))
	}
	r.failedAt = time.Time{}
	if err != nil {
		r.failedAt = now
	}
	return err
}

// differences counts the rules that are made, set or removed.
func differences(a, b []Entry) (n int) {
	of := make(map[Flow]NextHop, len(a))
	for i := range a {
		of[a[i].Flow] = a[i].To
	}
	for i := range b {
		to, there := of[b[i].Flow]
		if !there || to != b[i].To {
			n++
		}
		delete(of, b[i].Flow)
	}
	return n + len(of)
}

// Report is the state of the redirector, for the operator.
type Report struct {
	Groups   []GroupReport
	Rules    int
	RuleTime time.Duration // of a change, the mean; 0: none was made
	Err      error         // why next hops are unknown
	Refused  error         // why the switch refused a rule last; nil: none within 20 s
	Warnings []string      // advice to the operator about the switch
}

// GroupReport is one group.
type GroupReport struct {
	Name string
	TableReport
	Counts
}

// Report returns the state.
func (r *Redirector) Report(now time.Time) Report {
	all := Report{Err: r.err, Refused: r.refusal.by, Rules: len(r.onSwitch), RuleTime: r.work.each()}
	if b, is := r.sw.(Bounded); is {
		all.Warnings = b.Warnings()
	}
	for _, name := range slices.Sorted(maps.Keys(r.groups)) {
		g := r.groups[name]
		all.Groups = append(all.Groups, GroupReport{name, g.table.Report(r.clock.at(now)), g.table.Counts()})
	}
	return all
}
