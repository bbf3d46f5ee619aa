// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"time"

	"sluice/orchagent-ext/hold/dcqcn"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/sampled"
)

// Sampled is how switches that watch no flow estimate which one fills a queue: package sampled,
// from readings of depths and samples.
type Sampled struct {
	Every int64 // ps between two readings
	OneIn int   // packets
}

// estimator has the samples of one queue.
type estimator struct {
	sampled.Queue[place]
	link    int32
	packets int // until the next sample
}

// steering is a sender that the switch that serves it slows by CNPs: package dcqcn decides when.
type steering struct {
	dcqcn.Steer
	until int64 // ps: the end of the hold
	set   bool  // its timer is
}

// sample counts a packet that comes to the queue of a link, and takes one in so many.
func (w *watch) sample(n *Net, id int32, k *packet) {
	e := w.queues[id]
	if e == nil {
		e = &estimator{link: id, packets: 1 + int(n.random.next()%uint64(w.sampled.OneIn))}
		w.queues[id] = e
		w.estimators = append(w.estimators, e)
	}
	if !w.reading {
		w.reading = true
		n.timers.push(timer{at: n.now + w.sampled.Every, kind: timerRead})
	}
	if e.packets--; e.packets > 0 {
		return
	}
	e.packets = w.sampled.OneIn
	at := place{k.qp, k.hop}
	e.Sample(at, int(k.octets))
	f := w.flows[at]
	if f == nil {
		f = &watched{place: at, link: id, in: k.in}
		w.flows[at] = f
		w.onLink[id] = append(w.onLink[id], f)
	}
	all := uint64(k.octets) * uint64(w.sampled.OneIn)
	f.came += all
	f.left += all
}

// read is one reading of all queues: flows have their estimates until the next one.
func (w *watch) read(n *Net) {
	for _, e := range w.estimators {
		n.serve(e.link)
		e.Depth(uint64(n.links[e.link].depth))
		on := slices.Clone(w.onLink[e.link])
		for _, f := range on {
			x := e.Of(f.place)
			if f.estimate = x.Least; f.flow.Congested() {
				f.estimate = x.Mean
			}
		}
		for _, f := range on {
			if w.observe(n, f); f.estimate == 0 && e.Share(f.place) == 0 && !f.flow.Congested() && !f.measured {
				w.forget(f)
			}
		}
		e.Decay()
	}
	if w.reading = n.pool.flying > 0 || len(w.flows) > 0; !w.reading {
		return
	}
	n.timers.push(timer{at: n.now + w.sampled.Every, kind: timerRead})
}

// octets returns how many octets of a flow wait in its queue, as far as the switch knows.
func (w *watch) octets(f *watched) uint64 {
	if w.sampled != nil {
		return f.estimate
	}
	return uint64(max(w.depth[f.qp][f.hop], 0))
}

// ask sends a PFCM on to the switch that serves the sender, from neighbor to neighbor, where the method
// of holds is source. hop is that of the switch that asks.
func (w *watch) ask(n *Net, o order, hop uint8) {
	q := &n.pairs.all[o.at.qp]
	at := n.now + w.hold.Reaction
	for ; hop > 1; hop-- {
		at += n.links[upLink(n.topo, q, hop)].delay + w.hold.Reaction
	}
	o.at.hop = 1
	n.timers.push(timer{at: at, kind: timerSource, arg: w.order(o)})
}

// source is the switch that serves a sender: it slows the sender until the hold ends.
func (w *watch) source(n *Net, o *order) {
	q := &n.pairs.all[o.at.qp]
	if n.codec.streamID(q) != o.pfcm.StreamID || q.una == q.end {
		return
	}
	now := n.now / Nanosecond
	s := w.slowed[o.at.qp]
	switch d := enforce.OfPFCM(&o.pfcm); d.Verb {
	case enforce.End:
		delete(w.slowed, o.at.qp)
	case enforce.Limit:
		line := uint64(8e12) / uint64(n.links[q.src].psPerOctet)
		if s == nil {
			n.Stats.Holds++
			s = &steering{}
			s.Begin(now, 0, line, line*uint64(d.Keep)/100)
			w.slowed[o.at.qp] = s
		}
		s.until = n.now + int64(d.For/time.Nanosecond)*Nanosecond
		w.steer(n, o.at.qp)
	}
}

// steer sends the CNP that is due for a sender, and sets the timer of the next one.
func (w *watch) steer(n *Net, id int32) {
	s := w.slowed[id]
	if s == nil || s.set {
		return
	}
	if n.now >= s.until {
		delete(w.slowed, id)
		return
	}
	q := &n.pairs.all[id]
	if s.Due(n.now / Nanosecond) {
		n.Stats.CNPs++
		l := &n.links[downLink(n.topo, q.src)]
		if n.codec.cnp(q.dst, q.src, uint32(id)) == uint32(id) {
			n.timers.push(timer{at: n.now + ackOctets*l.psPerOctet + l.delay, kind: timerCNP, arg: id})
		}
	}
	s.set = true
	n.timers.push(timer{at: max(s.Next()*Nanosecond, n.now+Nanosecond), kind: timerSteer, arg: id})
}
