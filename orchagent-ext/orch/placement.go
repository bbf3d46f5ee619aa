// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"hash/crc32"
	"net/netip"
	"os"
	"sync"
	"time"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/ecmp"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/flowcontrol"
	"sluice/orchagent-ext/nexthops"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/place"
	"sluice/orchagent-ext/placing"
	"sluice/orchagent-ext/telemetry"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// places says whether labels are to be chosen.
func places(s *config.Snapshot) bool {
	return !disabled(s) && s.Placement.AdminState == config.Enabled
}

// placementPolicy is what placement asks of the switch; nil: nothing.
func placementPolicy(s *config.Snapshot) *asic.Placement {
	if !places(s) {
		return nil
	}
	return &asic.Placement{Seed: hashSeed(s), Sampling: *s.Placement.SamplingRate}
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // "": the router ids tell switches apart
	return name
})

// hashSeed is the seed of ECMP's hash: as the row says, or else one that other switches
// hardly have: with equal seeds on tiers, what a leaf chooses makes the next tier choose
// alike. 0: it is not set.
func hashSeed(s *config.Snapshot) uint32 {
	switch {
	case s.Placement.Model == config.ModelLearned:
		return 0
	case s.Placement.HashSeed != nil:
		return *s.Placement.HashSeed
	}
	return max(1, crc32.ChecksumIEEE([]byte(hostname()+"|"+orEmpty(s.Global.RouterId)+"|"+orEmpty(s.Global.RouterIdV6))))
}

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
func placementSettings(s *config.Snapshot, kernel bool, capacity uint32) placing.Config {
	r := s.Placement
	threshold := 1 + float64(*r.ThresholdPercent)/100
	c := placing.Config{
		Kernel: kernel && r.Model != config.ModelLearned || r.Model == config.ModelLinux, Algorithm: flow.DraftLiteral,
		Table: place.Config{
			Capacity: int(capacity), IdleNS: int64(*r.IdleUs) * 1000, MaxMoves: int(*r.MaxMoves), Threshold: threshold,
			Goal: 1 + (threshold-1)*goalShare, RateNS: int64(rateTime), WindowNS: int64(rateWindow),
		},
	}
	if r.Scope == config.PlacementFabric {
		c.Leaf = leafName(s)
	}
	if s.FlowLabel.Algorithm == config.AlgorithmCRC32 {
		c.Algorithm = flow.CRC32
	}
	switch r.Moves {
	case config.MovesAny:
		c.Table.Moves = place.MovesAny
	case config.MovesNever:
		c.Table.Moves = place.MovesNever
	}
	return c
}

// placement places flows while that is enabled.
type placement struct {
	*placing.Placer
	settings placing.Config
	news     *nexthops.News // nil: there is none, and next hops are read now and then
	due      *time.Timer
	err      error // of the last poll
}

// stopped ends it. Labels stay.
func (p *placement) stopped() *placement {
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
	if sw.outcome.Method(asic.NeedPlacement) == asic.None || !places(o.snapshot) {
		sw.place = sw.place.stopped()
		o.copy.drop()
		return
	}
	o.copy.begin(o.ledgerRows)
	c := placementSettings(o.snapshot, sw.Kernel, *o.snapshot.Global.FlowCapacity)
	if sw.engine.Record(asic.SeedKey) != nil {
		c.Seed = hashSeed(o.snapshot)
	}
	if sw.place != nil && sw.place.settings == c {
		return
	}
	sw.place = sw.place.stopped()
	count := func(f asic.FlowEntry) (uint64, error) {
		_, octets, err := sw.countFlow(f)
		return octets, err
	}
	sw.place = &placement{settings: c, due: time.NewTimer(0), Placer: placing.New(c, &network{o}, sw.engine, count, o.Log, o.Now())}
	sw.place.Moved = sw.flows.relabel
	news, err := nexthops.Subscribe()
	if err != nil {
		o.Log.Warn("changes of next hops are seen late", "error", err)
		return
	}
	sw.place.news = news
}

// ledgerRows are the rows of the ledger.
func (o *orch) ledgerRows() []rows.Row { return o.rows.Wanted(telemetry.TableObject) }

// placing is when placement has something to do: next hops changed, or a poll is due.
func (o *orch) placing() (hops <-chan struct{}, polls <-chan time.Time) {
	if o.sw == nil || o.sw.place == nil {
		return nil, nil
	}
	if o.sw.place.news != nil {
		hops = o.sw.place.news.Changed()
	}
	return hops, o.sw.place.due.C
}

// pollPlacement reads counters, and moves flows.
func (o *orch) pollPlacement() {
	p, began := o.sw.place, o.Now()
	waiting, err := p.Poll(began, o.heldNow)
	if err != nil && (p.err == nil || p.err.Error() != err.Error()) {
		o.Log.Warn("flows cannot be moved", "error", err)
	}
	p.err = err
	p.due.Reset(p.Pace(waiting, o.Now().Sub(began)))
}

// heldNow tells which flows are held: by their Stream ID, their label, or their addresses,
// or with their whole class.
func (o *orch) heldNow() placing.Held {
	l := o.sw.lane
	if l == nil {
		return func(asic.FlowEntry) bool { return false }
	}
	r := l.Report()
	if r == nil {
		if r = l.report; r == nil {
			return func(asic.FlowEntry) bool { return false }
		}
	}
	return func(f asic.FlowEntry) bool { return holds(r, f, o.streams.id(f)) }
}

// holds says whether one of the holds of a report may be of a flow.
func holds(r *flowcontrol.Report, f asic.FlowEntry, stream uint16) bool {
	for i := range r.Holds {
		h := &r.Holds[i]
		switch {
		case h.Ignored:
		case stream != 0 && h.Stream == stream, h.Source == f.Src && h.Destination == f.Dst, h.Match.Kind == sai.HoldClass:
			return true
		case h.Match.Kind == sai.HoldLabel && h.Match.Value == f.Label, h.Match.Kind == sai.HoldPair && h.Match.Src == f.Src && h.Match.Dst == f.Dst:
			return true
		}
	}
	return false
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
func (s *opened) seenAgain(f asic.FlowEntry, egress string) error {
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
	return neighborOf(n.snapshot, link).Name
}

func (n *network) Sent(link string) (octets uint64, known bool) {
	return n.octets(link, func(s *telemetry.PortStats) *uint64 { return s.TxBytes })
}

func (n *network) Received(link string) (octets uint64, known bool) {
	return n.octets(link, func(s *telemetry.PortStats) *uint64 { return s.RxBytes })
}

// portsOf are the port of a netdev, or the members of a PortChannel.
func portsOf(s *config.Snapshot, link string) []string {
	if _, port := s.SwitchPorts[link]; port {
		return []string{link}
	}
	return s.PortChannels[link]
}

// neighborOf is the switch or host behind a netdev.
func neighborOf(s *config.Snapshot, link string) config.Neighbor {
	for _, port := range portsOf(s, link) {
		if n := s.Neighbors[port]; n.Name != "" {
			return n
		}
	}
	return config.Neighbor{}
}

// octets sums up a counter of the ports of a netdev.
func (n *network) octets(link string, of func(*telemetry.PortStats) *uint64) (sum uint64, known bool) {
	ports := portsOf(n.snapshot, link)
	for _, port := range ports {
		s, err := n.sw.PortStats(port)
		if err != nil || s == nil || of(s) == nil {
			return 0, false
		}
		sum += *of(s)
	}
	return sum, len(ports) > 0
}
