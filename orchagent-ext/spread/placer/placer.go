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

// Switch has the entries of flows.
type Switch interface {
	// Relabel is that of [engine.Engine].
	Relabel(flows []engine.FlowEntry, each engine.EachLabel) (refused []engine.FlowEntry, err error)

	// CountFlow returns the counts of a flow's entry since it was created, or an error for one
	// that is gone.
	CountFlow(f engine.FlowEntry) (packets, octets uint64, err error)
}

// Config has the settings of placement.
type Config struct {
	Table placement.Config

	Algorithm flow.Algorithm // of hash labels
	Kernel    bool           // the model is the Linux kernel's; else it is learned
	Computed  bool           // other flows have the label of the hash already
	Seed      uint32         // of the kernel's hash, as Sluice set it; 0: any
	Leaf      string         // name of this switch in the fabric; "": scope local
}

// Times of the polls.
const (
	leastPoll = 5 * time.Millisecond
	mostPoll  = 200 * time.Millisecond
	pollShare = 20 // a poll may take one of so many parts of the time
	slowPolls = 16 // in a row until their time counts
	waitShare = 4  // likewise, while pauses are waited for
	// between two looks whether ports sent what was predicted
	checkEvery = time.Second
	mostDests  = 1 << 16
)

// Placer places flows. It is for one goroutine. The parts of its state are the groups of next
// hops, when to read these, the fabric around this leaf, and the pace of polls.
type Placer struct {
	cfg      Config
	net      Network
	registry Registry

	groups  groups
	reading reading
	fabric  fabric
	pace    pace

	// began: when the placer was made. Tables count ns from it by Go's monotonic clock.
	began   time.Time
	polled  time.Time // the last poll began
	checked time.Time // ports were compared with the predictions, for checkEvery
}

// New returns a placer of the flows of a registry. Release it in the end.
func New(c Config, n Network, r Registry, log *slog.Logger, now time.Time) *Placer {
	return &Placer{
		cfg: c.complete(), net: n, registry: r, began: now,
		groups: groups{dests: map[netip.Addr]*group{}, byName: map[string]*group{}}, reading: reading{net: n, log: log, stale: true},
	}
}

// Release ends placement: flows keep their labels, and another placer takes them over.
func (p *Placer) Release() {
	for f := range p.flows {
		f.placer, f.group = nil, nil
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
	for _, g := range p.groups.byName {
		g.table.Tune(c.Table)
	}
	return true
}

// Stale marks the next hops for another reading.
func (p *Placer) Stale(now time.Time) { p.reading.changed(now) }

// Err returns the last error of reading next hops, or nil.
func (p *Placer) Err() error { return p.reading.err }

// Place gives a flow of the registry that is new the label that its entry is to have: it has the
// label of the hash. One that is placed keeps its label. Where the switch computes labels, a new
// flow keeps that of the hash until it pauses: another one could reorder its packets.
func (p *Placer) Place(f *Flow, now time.Time) {
	if f.placer == p {
		return
	}
	p.Prepare([]netip.Addr{f.Dst}, now)
	f.placer, f.group, f.hash = p, nil, f.Label
	if g := p.groups.dests[f.Dst]; g != nil && f.SrcPort != 0 {
		f.group = g
		if p.cfg.Computed {
			g.table.Enter(f.flow(), p.fabric.leafOf(f.Dst), f.hash)
		} else if at := g.table.Place(f.flow(), p.fabric.leafOf(f.Dst), f.hash); at.Label != 0 {
			f.Label = at.Label
		}
	}
}

// Prepare reads the next hops of destinations, at once, where some are new. Destinations
// above the limit of flows are dropped: flows to them keep the label of the hash.
func (p *Placer) Prepare(dsts []netip.Addr, now time.Time) {
	if p.groups.add(dsts) {
		p.reading.changed(now.Add(-settleNews))
		p.refresh(now)
	}
}

// sync takes over the flows of the registry that are unknown, with their labels.
func (p *Placer) sync(now time.Time) {
	var news []*Flow
	var dsts []netip.Addr
	for f := range p.registry.Flows {
		if f.placer != p {
			f.placer, f.group, f.hash = p, nil, p.cfg.Algorithm.Label(0, f.DestQP, f.Src.As16(), f.Dst.As16())
			news, dsts = append(news, f), append(dsts, f.Dst)
		}
	}
	p.Prepare(dsts, now)
	for _, f := range news {
		if f.group == nil {
			f.join(p.groups.dests[f.Dst])
		}
	}
}

// Poll begins a poll: it takes over unknown flows, and reads next hops where they may have
// changed. The counters of flows come next, by Sample.
func (p *Placer) Poll(now time.Time) {
	p.polled = now
	p.sync(now)
	if p.checkDue() {
		p.reading.readHash()
	}
	p.refresh(now)
}

// checkDue reports whether ports are compared with the predictions in this poll.
func (p *Placer) checkDue() bool {
	return p.polled.Sub(p.checked) >= checkEvery || p.polled.Before(p.checked)
}

// at is the time of the poll as tables have it.
func (p *Placer) at() int64 { return int64(p.polled.Sub(p.began)) }

// Sample has the octets of a flow's counter at this poll. A flow whose counter cannot be read
// is left out.
func (p *Placer) Sample(f *Flow, octets uint64) {
	f.octets = octets
	f.group.table.Sample(f.flow(), octets, p.at())
}

// Moves ends a poll: it compares the octets that ports sent with the predicted ones, and returns
// the moves that are due. held reports which flows are held now, and so stay. waiting reports
// whether a table waits for pauses of flows.
func (p *Placer) Moves(held Held) (moves []Move, waiting bool) {
	for _, g := range p.groups.byName {
		g.table.SetHeld(func(f placement.Flow, label uint32) bool { return held(entryOf(f, label)) })
	}
	if p.checkDue() {
		for _, g := range p.groups.byName {
			g.check(p.net.Sent, p.polled)
		}
		if p.cfg.Leaf != "" {
			p.fabric.checkReceived(p.net, p.groups.links, p.polled)
		}
		p.checked = p.polled
	}
	for _, g := range p.groups.byName {
		if g.reason != "" {
			continue
		}
		for _, m := range g.table.Look(p.at()) {
			f := p.registry.Find(entryOf(m.Flow, m.From))
			moves = append(moves, Move{f, g.table, m})
		}
		waiting = waiting || g.table.Watching()
	}
	return moves, waiting
}

// Pace is how long after a poll that took so long the next one is due: so soon that pauses
// are seen.
func (p *Placer) Pace(waiting bool, took time.Duration) time.Duration {
	return p.pace.next(waiting, took, time.Duration(p.cfg.Table.IdleNS))
}

// pace is how often polls are due.
type pace struct {
	cost time.Duration // of a poll
}

// next returns the time between polls where a flow is idle after some time. A poll that had to
// wait for a processor counts little.
func (p *pace) next(waiting bool, took, idle time.Duration) time.Duration {
	if took > p.cost {
		took = p.cost + (took-p.cost)/slowPolls
	}
	p.cost = took
	share := time.Duration(pollShare)
	if waiting {
		share = waitShare
	}
	return max(min(max(idle/2, leastPoll), mostPoll), share*took)
}
