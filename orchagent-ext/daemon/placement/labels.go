// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"time"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/redirects"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
)

// goalShare is how far below the threshold flows stop moving, in parts of its excess above 1.
const goalShare = 0.4

// rateTime is the time constant of the average of rates, which are measured over rateWindow
// at least: a load that changed is known within a second.
const (
	rateTime   = time.Second
	rateWindow = 300 * time.Millisecond
)

// labelSettings returns the settings of placement by labels. Where those differ that cannot be
// tuned, all flows are adopted again, with their labels.
func labelSettings(s *config.Snapshot, kernel bool, capacity uint32) placer.Config {
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

// labels places flows by labels.
type labels struct {
	*placer.Placer
	settings placer.Config
	watch    watch
	held     chan placer.Held // the answer of flow control to a poll
	took     time.Duration    // of the poll so far
}

// stopped ends it. Labels stay.
func (l *labels) stopped() *labels {
	if l != nil {
		l.watch.stop()
		l.Release()
	}
	return nil
}

// reconcileLabels brings placement by labels to its settings.
func (p *Placement) reconcileLabels(want *Settings) {
	if !want.ChoosesLabels() {
		p.labels = p.labels.stopped()
		return
	}
	c := labelSettings(want.Snapshot, want.Kernel, *want.Snapshot.Global.FlowCapacity)
	c.Computed = want.Outcome.Method(engine.NeedPlacement) == engine.Entries
	if p.env.Engine.Record(engine.KeySeed) != nil {
		c.Seed = policy.HashSeed(want.Snapshot)
	}
	if p.labels != nil && p.labels.Tune(c) {
		p.labels.settings = c
		return
	}
	p.labels = p.labels.stopped()
	p.labels = &labels{settings: c, watch: newWatch(p.env.Log), held: make(chan placer.Held, 1), Placer: placer.New(c, &p.network, p.env.Flows, p.env.Log, p.env.Now())}
}

// pollLabels reads counters, and asks which flows are held: since the counters of many flows
// take time, after these, and beside the loop, as flow control may be slow to answer.
func (p *Placement) pollLabels(holds redirects.Holds) {
	l, began := p.labels, p.env.Now()
	l.Poll(began)
	for f := range l.Placed {
		// else its entry is gone, or cannot be read now
		if _, octets, err := p.env.Switch.CountFlow(f.FlowEntry); err == nil {
			l.Sample(f, octets)
		}
	}
	l.took = p.env.Now().Sub(began)
	go func() { l.held <- holds.Held() }()
}

// moveLabels moves flows, and plans the next poll.
func (p *Placement) moveLabels(held placer.Held) {
	l, began := p.labels, p.env.Now()
	moves, waiting := l.Moves(held)
	err := l.CarryOut(p.env.Switch, moves, began)
	l.watch.polled(err, p.env.Log, "flows cannot be moved")
	l.watch.due.Reset(l.Pace(waiting, l.took+p.env.Now().Sub(began)))
}
