// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
)

// goalShare is how far below the threshold flows stop moving, in parts of what it is
// above 1.
const goalShare = 0.4

// rateTime is the time constant of the average of rates, which are measured over rateWindow
// at least: a load that changed is known within a second.
const (
	rateTime   = time.Second
	rateWindow = 300 * time.Millisecond
)

// placementSettings are what placement works by. Where they differ, all flows are taken over
// again, with their labels.
func placementSettings(s *config.Snapshot, kernel bool, capacity uint32) placer.Config {
	r := s.Placement
	threshold := 1 + float64(*r.ThresholdPercent)/100
	c := placer.Config{
		Kernel: kernel && r.Model != config.ModelLearned || r.Model == config.ModelLinux, Algorithm: flow.DraftLiteral,
		Table: placement.Config{
			Capacity: int(capacity), IdleNS: int64(*r.IdleUs) * 1000, MaxMoves: int(*r.MaxMoves), Threshold: threshold,
			Goal: 1 + (threshold-1)*goalShare, RateNS: int64(rateTime), WindowNS: int64(rateWindow),
		},
	}
	if r.Scope == config.PlacementFabric {
		c.Leaf = policy.LeafName(s)
	}
	if s.FlowLabel.Algorithm == config.AlgorithmCRC32 {
		c.Algorithm = flow.CRC32
	}
	switch r.Moves {
	case config.MovesAny:
		c.Table.Moves = placement.MovesAny
	case config.MovesNever:
		c.Table.Moves = placement.MovesNever
	}
	return c
}

// placementTask places flows while that is enabled.
type placementTask struct {
	*placer.Placer
	settings placer.Config
	news     *nexthops.News // nil: there is none, and next hops are read now and then
	due      *time.Timer
	err      error // of the last poll
}

// stopped ends it. Labels stay.
func (p *placementTask) stopped() *placementTask {
	if p != nil {
		p.due.Stop()
		if p.news != nil {
			p.news.Close()
		}
	}
	return nil
}

// place brings placement to what is configured.
func (o *orch) place() {
	sw := o.sw
	if m := sw.outcome.Method(engine.NeedPlacement); m == engine.None || m == engine.Redirect || !policy.Places(o.snapshot) {
		sw.place = sw.place.stopped()
		o.ledger.EndCopy()
		return
	}
	o.ledger.BeginCopy()
	c := placementSettings(o.snapshot, sw.Kernel, *o.snapshot.Global.FlowCapacity)
	c.Computed = sw.outcome.Method(engine.NeedPlacement) == engine.Entries
	if sw.engine.Record(engine.KeySeed) != nil {
		c.Seed = policy.HashSeed(o.snapshot)
	}
	if sw.place != nil && sw.place.settings == c {
		return
	}
	sw.place = sw.place.stopped()
	count := func(f engine.FlowEntry) (uint64, error) {
		_, octets, err := sw.countFlow(f)
		return octets, err
	}
	sw.place = &placementTask{settings: c, due: time.NewTimer(0), Placer: placer.New(c, &network{o}, sw.engine, count, o.Log, o.Now())}
	sw.place.Moved = sw.flows.relabel
	news, err := nexthops.Subscribe()
	if err != nil {
		o.Log.Warn("changes of next hops are seen late", "error", err)
		return
	}
	sw.place.news = news
}

// placing is when placement has something to do: next hops changed, or a poll is due.
func (o *orch) placing() (hops <-chan struct{}, polls <-chan time.Time) {
	if o.sw == nil {
		return nil, nil
	}
	if t := o.sw.steer; t != nil {
		return t.changed(), t.due.C
	}
	if o.sw.place == nil {
		return nil, nil
	}
	if o.sw.place.news != nil {
		hops = o.sw.place.news.Changed()
	}
	return hops, o.sw.place.due.C
}

// pollPlacement reads counters, and moves flows.
func (o *orch) pollPlacement() {
	if o.sw.steer != nil {
		o.pollRedirects()
		return
	}
	p, began := o.sw.place, o.Now()
	waiting, err := p.Poll(began, o.heldNow)
	if err != nil && (p.err == nil || p.err.Error() != err.Error()) {
		o.Log.Warn("flows cannot be moved", "error", err)
	}
	p.err = err
	p.due.Reset(p.Pace(waiting, o.Now().Sub(began)))
}

// heldNow returns the flows that are held now.
func (o *orch) heldNow() placer.Held {
	held := o.sw.control.Holds()
	return func(f engine.FlowEntry) bool { return held(f, o.streams.ID(f)) }
}

// preparePlaces reads the next hops to where new flows go.
func (s *opened) preparePlaces(news []packetio.NewFlow, now time.Time) {
	if s.place == nil {
		return
	}
	dsts := make([]netip.Addr, len(news))
	for i := range news {
		dsts[i] = news[i].Dst
	}
	s.place.Prepare(dsts, now)
}

// seenAgain notes what the CPU saw of a flow that has an entry.
func (s *opened) seenAgain(f engine.FlowEntry, egress string) error {
	is := s.flows.seen[unlabelled(f)]
	if is.flow.SrcPort == f.SrcPort || f.SrcPort == 0 {
		if s.place != nil && egress != "" {
			s.place.Observe(f, egress)
		}
		return nil
	}
	is.flow.SrcPort = f.SrcPort
	if s.place != nil {
		s.place.SrcPort(is.flow)
	}
	return s.engine.SetSrcPort(is.flow)
}

// network is what placement reads.
type network struct{ *orch }

func (n *network) Groups(dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	groups, err := nexthops.ReadAll(dsts)
	if err != nil || n.programmed == nil {
		return groups, err
	}
	programmed, err := n.programmed.known()
	return nexthops.InSwitchOrder(groups, programmed, err), nil
}

func (n *network) Hash() (ecmp.Kernel, error) { return nexthops.Hash(false) }

func (n *network) Prefixes() (map[netip.Prefix][]string, error) { return nexthops.Prefixes() }

// Spine is the neighbor of a port, or of a member of a PortChannel.
func (n *network) Spine(link string) string {
	return policy.NeighborOf(n.snapshot, link).Name
}

func (n *network) Sent(link string) (octets uint64, known bool) {
	return n.octets(link, func(s *telemetry.PortStats) *uint64 { return s.TxBytes })
}

func (n *network) Received(link string) (octets uint64, known bool) {
	return n.octets(link, func(s *telemetry.PortStats) *uint64 { return s.RxBytes })
}

// octets sums up a counter of the ports of a netdev.
func (n *network) octets(link string, of func(*telemetry.PortStats) *uint64) (sum uint64, known bool) {
	ports := policy.PortsOf(n.snapshot, link)
	for _, port := range ports {
		s, err := n.sw.PortStats(port)
		if err != nil || s == nil || of(s) == nil {
			return 0, false
		}
		sum += *of(s)
	}
	return sum, len(ports) > 0
}
