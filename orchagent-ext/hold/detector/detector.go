// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"errors"

	"sluice/orchagent-ext/hold/advisor"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/downstream"
	"sluice/orchagent-ext/hold/gateway"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// Room is for flows; further ones are counted.
const Room = 8192

// Switch reads the depth of flows.
type Switch interface {
	GetFlow(queue sai.ObjectID, flow uint64) (sai.FlowState, error)
}

// Settings are the queues that are watched, and which messages are sent about their flows.
type Settings struct {
	Queues   map[sai.ObjectID]kernel.Queue
	Seed     uint32 // of Stream IDs
	Sends    bool   // messages of any kind are sent
	PFCM     bool
	Gateways bool // PPFC is sent
	Advice   bool
}

// flow is a flow that fills a queue, or did, with the records of the machines that notify others of it.
type flow struct {
	kernel.Flow
	neighbor downstream.Request
	gateway  gateway.Request
	advice   advisor.Flow

	since   int64   // when it was added, ns
	arrives arrival // its part in [Detector.arriving]

	at    int64 // of the next reading of its depth, ns
	place int
}

// When implements [clock.Timed].
func (f *flow) When() int64 { return f.at }

// Place implements [clock.Timed].
func (f *flow) Place() *int { return &f.place }

// Detector has the flows that fill queues.
type Detector struct {
	k         *kernel.Kernel
	sw        Switch
	neighbors *downstream.Notifier
	gateways  *gateway.Notifier
	advisor   *advisor.Advisor
	settings  Settings

	flows    kernel.Store[kernel.FlowID, flow]
	due      clock.Heap[*flow]
	arriving map[sai.ObjectID]arrival // by queue, forgotten with its last congested flow
	head     roce.Packet              // scratch: of an event
}

// New returns a detector that watches no queue.
func New(k *kernel.Kernel, sw Switch, n *downstream.Notifier, g *gateway.Notifier, a *advisor.Advisor) *Detector {
	return &Detector{k: k, sw: sw, neighbors: n, gateways: g, advisor: a,
		flows: kernel.NewStore[kernel.FlowID, flow](Room), arriving: map[sai.ObjectID]arrival{}}
}

// Flows returns the number of flows that fill queues, or did and still drain.
func (d *Detector) Flows() int { return d.flows.Len() }

// Event takes an event of the switch.
func (d *Detector) Event(now int64, e *sai.FlowEvent) {
	d.k.Counters.Events++
	q, ok := d.settings.Queues[e.Queue]
	if !ok || !d.settings.Sends {
		return // from before the configuration changed
	}
	id := kernel.FlowID{Queue: e.Queue, Flow: e.Flow}
	f := d.flows.Get(id)
	if f == nil {
		if e.Mark == sai.MarkLow || e.Mark == sai.MarkAlarm && q.Threshold.Average == 0 && !d.settings.Gateways && !d.settings.Advice {
			return
		}
		if d.flows.Len() >= Room {
			d.k.Counters.FlowsFull++
			return
		}
		f = d.flows.Add(id)
		*f = flow{Flow: kernel.Flow{ID: id, Queue: q, Nameless: kernel.IsUnreadable}, since: now}
	}
	d.learn(now, f, e)
	// The switch raises a flow below its mark where the queue has less room left than that.
	filling := e.Mark == sai.MarkHigh && e.Octets <= q.Threshold.High
	d.observe(now, f, e.Octets, filling, e.At)
}

// Next returns when [Detector.Step] has work, or at if that is earlier; ns.
func (d *Detector) Next(at int64) int64 {
	if f, ok := d.due.First(); ok {
		at = min(at, f.at)
	}
	return at
}

// Step reads the depth of the flows that are due.
func (d *Detector) Step(now int64) {
	for {
		f, ok := d.due.First()
		if !ok || f.at > now {
			return
		}
		d.read(now, f)
	}
}

// read observes a congested flow by the depth that it reads from the switch: events make
// flow control fast, this makes it right even if one is lost.
func (d *Detector) read(now int64, f *flow) {
	state, err := d.sw.GetFlow(f.ID.Queue, f.ID.Flow)
	octets := state.Octets
	if err != nil {
		octets = 0
		// it is asked again at the next refresh, and earlier requests run out
		if !errors.Is(err, sai.ErrNotFound) {
			d.k.Counters.ReadFailed++
		}
	}
	if at := f.advice.Due(); at != 0 && at <= now {
		d.advisor.Measure(now, &f.Flow, &f.advice, octets)
	}
	d.observe(now, f, octets, false, 0)
}

// observe takes the depth of a flow and passes the signals on that result. at is the time of
// the switch's event; 0 for a depth that was read.
func (d *Detector) observe(now int64, f *flow, octets uint64, filling bool, at int64) {
	others := d.arriving[f.ID.Queue].without(f.arrives)
	seen := congestion.Seen{Octets: octets, Filling: filling, Share: congestion.Share(octets, others.octets, others.flows)}
	if s := f.State.Observe(now, seen, &f.Queue.Threshold); s != congestion.Nothing {
		d.neighbors.Signal(now, &f.Flow, &f.neighbor, s, at)
		d.gateways.Signal(now, &f.Flow, &f.gateway, s, at)
		d.advisor.Signal(now, &f.Flow, &f.advice, s)
	}
	d.addArriving(f)
	due, ok := f.State.Due(&f.Queue.Threshold)
	if at := f.advice.Due(); at != 0 && (!ok || at < due) {
		due, ok = at, true
	}
	if !ok {
		d.remove(f)
		return
	}
	f.at = due
	d.due.Put(f)
}

// remove forgets a flow and keeps its memory for the next one.
func (d *Detector) remove(f *flow) {
	d.setArriving(f, arrival{})
	d.neighbors.Forget(&f.neighbor)
	d.gateways.Forget(&f.gateway)
	d.due.Remove(f)
	d.flows.Remove(f.ID)
}

// End ends the requests about flows that the next settings leave out, by the ports and settings in force:
// it is to be called before any machine has the next ones.
func (d *Detector) End(now int64, next Settings) {
	all := d.flows.All()
	for i := len(all) - 1; i >= 0; i-- {
		f := all[i]
		q, ok := next.Queues[f.ID.Queue]
		stays := next.Sends && ok
		if !stays {
			f.State.End()
		}
		if f.neighbor.Open() && (!stays || !next.PFCM) {
			d.neighbors.RunOut(now, &f.Flow, &f.neighbor)
		}
		if !stays || f.gateway.Stopped() && !next.Gateways {
			d.gateways.End(now, &f.Flow, &f.gateway)
			d.advisor.End(&f.Flow, &f.advice)
		}
		if !stays {
			d.remove(f)
			continue
		}
		if f.Queue = q; !next.Advice {
			d.advisor.End(&f.Flow, &f.advice)
		}
	}
}

// Configure takes settings, once all machines that are notified have theirs.
func (d *Detector) Configure(s Settings) { d.settings = s }

// Retry has those flows asked for whose neighbor can be reached again, or at last, such as after
// the link was down: their packets of the meantime wait in front of the queue. before has the ports of
// the former configuration.
func (d *Detector) Retry(now int64, before *kernel.Ports) {
	all := d.flows.All()
	for i := len(all) - 1; i >= 0; i-- { // reading one may remove it
		if f := all[i]; f.State.Congested() && d.neighbors.Reached(&f.Flow, &f.neighbor, before) {
			f.State.Retry()
			d.read(now, f)
		}
	}
}

// AddBacklog implements [advisor.Queues].
func (d *Detector) AddBacklog(queue sai.ObjectID, b *advisor.Backlog) {
	for _, f := range d.flows.All() {
		if f.ID.Queue == queue {
			b.Add(&f.advice, f.State.Octets())
		}
	}
}
