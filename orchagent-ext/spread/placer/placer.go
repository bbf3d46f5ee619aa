// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"log/slog"
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/plan"
	"sluice/orchagent-ext/switch/engine"
)

// Network reads routes and counters of the network.
type Network interface {
	// Groups returns the next hops to destinations.
	Groups(dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error)

	// Hash returns how the kernel hashes packets of IPv6.
	Hash() (ecmp.Kernel, error)

	// Sent returns the octets that left by a netdev of a next hop; known is false for an
	// unknown one.
	Sent(link string) (octets uint64, known bool)

	// Received returns the octets that came by it.
	Received(link string) (octets uint64, known bool)

	// Spine returns the name of the switch at the other end of a netdev, or "".
	Spine(link string) string

	// Prefixes returns the prefixes of IPv6 that routes lead to, with the netdevs there.
	Prefixes() (map[netip.Prefix][]string, error)
}

// Entries is the flows that have entries on the switch: [engine.Engine].
type Entries interface {
	Flows(yield func(engine.FlowEntry) bool)
	Relabel(flows []engine.FlowEntry, each engine.EachLabel) (refused []engine.FlowEntry, err error)
}

// Config has the settings of placement.
type Config struct {
	Table placement.Config

	Algorithm flow.Algorithm // of hash labels
	Kernel    bool           // the model is the Linux kernel's; else it is learned
	Computed  bool           // flows without an entry have the label of the hash already
	Seed      uint32         // of the kernel's hash, as Sluice set it; 0: any
	Leaf      string         // name of this switch in the fabric; "": scope local
}

// Times of the polls.
const (
	leastPoll   = 5 * time.Millisecond
	mostPoll    = 200 * time.Millisecond
	pollShare   = 20               // a poll may take one of so many parts of the time
	slowPolls   = 16               // in a row until what they take counts
	waitShare   = 4                // likewise, while pauses are waited for
	checkEvery  = time.Second      // between two looks whether ports sent what was predicted
	readEvery   = 30 * time.Second // next hops are read again, with or without news
	settleNews  = 20 * time.Millisecond
	retryGroups = time.Second
	mostDests   = 1 << 16
)

// Placer places flows. It is for one goroutine.
type Placer struct {
	// As [New] got them; count returns the octets of a flow's entry since it was created,
	// or an error for one that is gone.
	cfg     Config
	net     Network
	entries Entries
	count   func(engine.FlowEntry) (octets uint64, err error)
	log     *slog.Logger

	flows  map[engine.FlowEntry]*placed // by the flow without label and source port
	dests  map[netip.Addr]*group        // nil: no group of several next hops
	groups map[string]*group            // by name
	round  uint64                       // of polls

	// How the kernel hashes, read with each check of the ports; hashErr is why that is
	// unknown.
	hash    ecmp.Kernel
	hashErr error

	// staleAt: when that was reported, for settleNews; readAt: when next hops were
	// read last, for readEvery and retryGroups; readErr is why that failed, nil after a
	// success.
	stale   bool // next hops may have changed
	staleAt time.Time
	readAt  time.Time
	swept   time.Time // destinations without a flow were forgotten
	// checked: when ports were compared with the predictions last, for checkEvery.
	checked time.Time
	readErr error
	// began: when the placer was made. Tables count ns from it by Go's monotonic clock.
	began  time.Time
	cost   time.Duration // of a poll
	fabric fabric

	// Moved is called for each flow that got another label. It may be nil.
	Moved func(f engine.FlowEntry)
}

// placed is a flow that has an entry.
type placed struct {
	entry   engine.FlowEntry
	hash    uint32 // its label by hash
	group   *group // nil: none
	round   uint64 // in which it was seen last
	octets  uint64 // of its counter, at the last poll
	movedAt time.Time
}

// flow returns the flow as package placement has it.
func (p *placed) flow() placement.Flow {
	return placement.Flow{Src: p.entry.Src, Dst: p.entry.Dst, DestQP: p.entry.DestQP, SrcPort: p.entry.SrcPort}
}

// New returns a placer. count reads the counter of a flow's entry.
func New(c Config, n Network, e Entries, count func(engine.FlowEntry) (octets uint64, err error), log *slog.Logger, now time.Time) *Placer {
	return &Placer{
		cfg: c.complete(), net: n, entries: e, count: count, log: log,
		began: now, flows: map[engine.FlowEntry]*placed{}, dests: map[netip.Addr]*group{}, groups: map[string]*group{}, stale: true,
	}
}

// complete adds the values that follow from others.
func (c Config) complete() Config {
	if c.Leaf != "" {
		c.Table.Leaves = plan.MaxLeaves
	}
	return c
}

// Tune changes the configuration, with flows, rates and counters as they are. It reports whether
// it could: only what [placement.Table.Tune] sets may differ.
func (p *Placer) Tune(c Config) bool {
	c = c.complete()
	rest := c
	of, was := &rest.Table, &p.cfg.Table
	of.Moves, of.IdleNS, of.MaxMoves, of.Threshold, of.Goal = was.Moves, was.IdleNS, was.MaxMoves, was.Threshold, was.Goal
	if rest != p.cfg {
		return false
	}
	p.cfg = c
	for _, g := range p.groups {
		g.table.Tune(c.Table)
	}
	return true
}

// key returns the part of an entry that identifies the flow.
func key(f engine.FlowEntry) engine.FlowEntry {
	f.Label, f.SrcPort = 0, 0
	return f
}

// Stale marks the next hops for another reading.
func (p *Placer) Stale(now time.Time) {
	if !p.stale {
		p.stale, p.staleAt = true, now
	}
}

// Place returns a flow with the label that its entry is to have: f has the label of the hash. One
// that is placed keeps its label. Where the switch computes labels, a new flow keeps that of the
// hash until it pauses: another one could reorder its packets.
func (p *Placer) Place(f engine.FlowEntry, now time.Time) engine.FlowEntry {
	k := key(f)
	if is := p.flows[k]; is != nil {
		return is.entry
	}
	p.Prepare([]netip.Addr{f.Dst}, now)
	one := &placed{entry: f, hash: f.Label, round: p.round}
	p.flows[k] = one
	if g := p.dests[f.Dst]; g != nil && f.SrcPort != 0 {
		one.group = g
		if p.cfg.Computed {
			g.table.Enter(one.flow(), p.leafOf(f.Dst), one.hash)
		} else if at := g.place(one, p.leafOf(f.Dst)); at.Label != 0 {
			one.entry.Label = at.Label
		}
	}
	return one.entry
}

// SrcPort records the UDP source port of a flow. Its label stays.
func (p *Placer) SrcPort(f engine.FlowEntry) {
	is := p.flows[key(f)]
	if is == nil || f.SrcPort == 0 || is.entry.SrcPort == f.SrcPort {
		return
	}
	is.leave()
	is.entry.SrcPort = f.SrcPort
	p.join(is, p.dests[is.entry.Dst])
}

// Prepare reads the next hops of destinations, at once, where some are new. Destinations
// above the limit of flows are dropped: flows to them keep the label of the hash.
func (p *Placer) Prepare(dsts []netip.Addr, now time.Time) {
	news := false
	for _, dst := range dsts {
		if _, known := p.dests[dst]; !known && len(p.dests) < mostDests {
			p.dests[dst], news = nil, true
		}
	}
	if news {
		p.stale, p.staleAt = true, now.Add(-settleNews)
		p.refresh(now)
	}
}

// sync takes over unknown flows, and forgets those whose entry is gone.
func (p *Placer) sync(now time.Time) {
	p.round++
	var news []*placed
	for f := range p.entries.Flows {
		k := key(f)
		is := p.flows[k]
		if is == nil {
			is = &placed{entry: f, hash: p.cfg.Algorithm.Label(0, f.DestQP, f.Src.As16(), f.Dst.As16())}
			p.flows[k] = is
			news = append(news, is)
		}
		is.round = p.round
	}
	for k, is := range p.flows {
		if is.round != p.round {
			is.leave()
			delete(p.flows, k)
		}
	}
	var dsts []netip.Addr
	for _, is := range news {
		dsts = append(dsts, is.entry.Dst)
	}
	p.Prepare(dsts, now)
	for _, is := range news {
		if is.group == nil {
			p.join(is, p.dests[is.entry.Dst])
		}
	}
}

// join takes a flow over into a group, with the label that it has. Without its source
// port its path is unknown.
func (p *Placer) join(is *placed, g *group) {
	if g != nil && is.entry.SrcPort != 0 {
		is.group = g
		g.adopt(is, p.leafOf(is.entry.Dst))
	}
}

// leave removes the flow from the table of its group.
func (is *placed) leave() {
	if is.group != nil {
		is.group.table.Forget(is.flow())
	}
	is.group = nil
}

// Held reports whether a flow is held.
type Held func(engine.FlowEntry) bool

// Poll reads the counters, and makes the moves that are due. held returns the flows that
// are held now. waiting reports whether a table waits for pauses of flows.
func (p *Placer) Poll(now time.Time, held func() Held) (waiting bool, err error) {
	p.sync(now)
	look := now.Sub(p.checked) >= checkEvery || now.Before(p.checked)
	if look {
		p.readHash()
	}
	p.refresh(now)
	at := int64(now.Sub(p.began))
	for _, is := range p.flows {
		if is.group == nil {
			continue
		}
		f := is.flow()
		if octets, err := p.count(is.entry); err == nil { // else it has no entry any more, or cannot be read now
			is.octets = octets
			is.group.table.Sample(f, octets, at)
		}
	}
	p.hold(held())
	if look {
		for _, g := range p.groups {
			g.check(p.net.Sent, now)
		}
		if p.cfg.Leaf != "" {
			p.checkReceived(now)
		}
		p.checked = now
	}
	waiting = false
	for _, g := range p.groups {
		waits, moveErr := p.move(g, at, now, held)
		waiting = waiting || waits
		if moveErr != nil {
			err = moveErr
		}
	}
	return waiting, err
}

// Pace is how long after a poll that took so long the next one is due: so soon that pauses
// are seen. One that had to wait for a processor counts little.
func (p *Placer) Pace(waiting bool, took time.Duration) time.Duration {
	if took > p.cost {
		took = p.cost + (took-p.cost)/slowPolls
	}
	p.cost = took
	share := time.Duration(pollShare)
	if waiting {
		share = waitShare
	}
	return max(min(max(time.Duration(p.cfg.Table.IdleNS)/2, leastPoll), mostPoll), share*took)
}

// move makes the moves of a group that are due. waits reports whether the group waits for
// pauses.
func (p *Placer) move(g *group, at int64, now time.Time, held func() Held) (waits bool, err error) {
	if g.reason != "" {
		return false, nil
	}
	moves := g.table.Look(at)
	waits = g.table.Watching()
	if len(moves) == 0 {
		return waits, nil
	}
	by := make(map[engine.FlowEntry]placement.Move, len(moves))
	change := make([]engine.FlowEntry, 0, len(moves))
	isHeld := held() // since the last look it may have come
	for _, m := range moves {
		f := engine.FlowEntry{Src: m.Flow.Src, Dst: m.Flow.Dst, DestQP: m.Flow.DestQP, SrcPort: m.Flow.SrcPort, Label: m.To}
		if is := p.flows[key(f)]; is == nil || isHeld(is.entry) {
			g.table.Cancel(m)
			g.table.Hold(m.Flow, is != nil)
			continue
		}
		change = append(change, f)
		by[key(f)] = m
	}
	refused, err := p.entries.Relabel(change, p.whileIdle(g, by))
	for _, f := range refused {
		if m, tried := by[key(f)]; tried {
			g.table.Undo(m)
			delete(by, key(f))
		}
	}
	for _, f := range change {
		is := p.flows[key(f)]
		if _, made := by[key(f)]; !made || is == nil {
			continue
		}
		is.entry.Label, is.movedAt = f.Label, now
		if p.Moved != nil {
			p.Moved(is.entry)
		}
	}
	return waits, err
}

// whileIdle has labels change only of flows whose counter is as it was when the table
// found them idle: the ledger, and the changes before, take milliseconds. The others are
// cancelled, and taken out of by. Where any flow may move it leaves by as it is.
func (p *Placer) whileIdle(g *group, by map[engine.FlowEntry]placement.Move) engine.EachLabel {
	if p.cfg.Table.Moves == placement.MovesAny {
		return engine.EachLabel{}
	}
	sends := func(f engine.FlowEntry) bool {
		octets, err := p.count(f)
		return err != nil || octets != p.flows[key(f)].octets
	}
	return engine.EachLabel{
		Before: func(f engine.FlowEntry) bool {
			if !sends(f) {
				return true
			}
			g.table.Cancel(by[key(f)])
			delete(by, key(f))
			return false
		},
		After: func(f engine.FlowEntry) {
			if sends(f) {
				g.table.Overtaken(by[key(f)])
			}
		},
	}
}

// hold passes the held flows to the tables.
func (p *Placer) hold(held Held) {
	for _, is := range p.flows {
		if is.group != nil {
			is.group.table.Hold(is.flow(), held(is.entry))
		}
	}
}

// Observe records that packets of a flow left by a netdev of a next hop.
func (p *Placer) Observe(f engine.FlowEntry, link string) {
	is := p.flows[key(f)]
	if is == nil || is.group == nil {
		return
	}
	if m := is.group.member(link); m >= 0 {
		is.group.table.Observe(is.flow(), m)
	}
}

// Path returns the netdev that a flow is predicted to leave by ("": unknown), and the
// time of its last move.
func (p *Placer) Path(f engine.FlowEntry) (link string, movedAt time.Time) {
	is := p.flows[key(f)]
	if is == nil {
		return "", movedAt
	}
	if is.group != nil {
		if _, m, ok := is.group.table.Label(is.flow()); ok && m >= 0 && m < len(is.group.members) {
			link = is.group.members[m].Link
		}
	}
	return link, is.movedAt
}
