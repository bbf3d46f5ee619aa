// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"time"

	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
)

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
func (p *Placement) reconcileLabels(want *Settings, in Inputs) {
	if !want.ChoosesLabels(in.method()) {
		p.labels = p.labels.stopped()
		return
	}
	c := want.Labels
	c.Kernel = in.Kernel && !want.Learned || want.Linux
	c.Computed = in.method() == engine.Entries
	if p.env.Engine.Record(engine.KeySeed) != nil {
		c.Seed = want.Seed
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
func (p *Placement) pollLabels(holds Holds) {
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
	l.watch.polled(err, p.env.Log, "cannot move flows")
	l.watch.due.Reset(l.Pace(waiting, l.took+p.env.Now().Sub(began)))
}
