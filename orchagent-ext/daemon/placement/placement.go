// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"log/slog"
	"net/netip"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/etcd"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/drift"
	"sluice/orchagent-ext/switch/engine"
)

// Settings of placement. With the zero value it is off.
type Settings struct {
	On      bool
	Rules   Rules           // where the switch has that method
	Labels  placer.Config   // where it has another; without Kernel, Computed and Seed
	Learned bool            // the model of the hash is learned even where the switch is the kernel
	Linux   bool            // the model is the kernel's even where the switch is another
	Seed    uint32          // of the hash; 0: it stays as it is
	Links   map[string]Link // ports and PortChannels, by name
	Fabric  Fabric
}

// Link is a port or PortChannel.
type Link struct {
	Ports []string // of the switch: itself, or its members
	Spine string   // the neighbor at its other end; "": unknown
}

// Fabric has the settings of scope fabric. The zero value is scope local.
type Fabric struct {
	Leaf string      // name of this switch among the leaves
	Etcd etcd.Config // but for [etcd.Access]
}

// Inputs are what placement goes by beside its settings.
type Inputs struct {
	Outcome *engine.Outcome // of the last reconciliation of the switch
	Kernel  bool            // the switch is the Linux kernel
}

// ChoosesLabels reports whether flows are placed by labels, where the switch has a method for placement.
func (s *Settings) ChoosesLabels(method engine.Method) bool {
	return s.On && method != engine.None && method != engine.Redirect
}

// method returns that of the switch.
func (in Inputs) method() engine.Method { return in.Outcome.Method(engine.NeedPlacement) }

// Environment is the open switch, and the databases beside it.
type Environment struct {
	Engine *engine.Engine
	// sends flows to next hops, from any goroutine; nil: Engine does, in the loop, by [Request]
	Rules  RuleSwitch
	Flows  placer.Registry // of flows with entries
	Switch placer.Switch   // has these entries

	Holds Holds // by addresses; nil: all flows are free

	PortStats func(name string) *telemetry.PortStats // nil: the port has none
	// by the number in frames, from any goroutine; "" for a number of another kind
	PortName func(number uint64) string

	Databases  *sonicdb.Databases // ASIC_DB is opened where it is needed
	CountersDB *sonicdb.DB
	Log        *slog.Logger
	Now        func() time.Time
}

// Placement keeps flows placed while that is configured. The zero value is idle. It is for one
// goroutine.
type Placement struct {
	network   network
	labels    *labels // nil: labels are those of the hash
	redirects redirects
	order     task.Part[bool, *groups, *programmed]
	sharing   task.Part[Fabric, placer.ShareState, *sharing]
	env       *Environment // of the switch that is open
}

// Reconcile brings placement to its settings, on the switch that is open.
func (p *Placement) Reconcile(g task.Group, want *Settings, in Inputs, env *Environment) {
	p.network.links, p.network.portStats, p.env = want.Links, env.PortStats, env
	p.reconcileLabels(want, in)
	var rules Rules
	if want.On && in.method() == engine.Redirect {
		rules = want.Rules
	}
	p.reconcileOrder(g, in.Kernel, rules.On && env.Rules != nil)
	order := p.order.Worker()
	if env.Rules == nil {
		order = nil
	}
	p.redirects.reconcile(g, rules, env, order)
}

// Detach ends placement on a switch that is about to be closed. Labels stay. Loads are shared
// and the order of next hops is read until the next Reconcile.
func (p *Placement) Detach() {
	p.labels = p.labels.stopped()
	p.redirects.stop()
}

// Prohibit ends placement by entries to next hops where the settings have none. It is called
// before the engine removes their table.
func (p *Placement) Prohibit(s *Settings) {
	if !s.On {
		p.redirects.stop()
	}
}

// Feed gives placement the samples of the packet path, or nil.
func (p *Placement) Feed(samples <-chan packetio.Sample) { p.redirects.feed(samples) }

// Losses returns the losses of rules to other programs to next hops that are kept beside the loop.
func (p *Placement) Losses() drift.Summary { return p.redirects.lost() }

// Requests returns the requests for rules that the loop is to serve, each once, or nil.
func (p *Placement) Requests() <-chan *Request { return p.redirects.requests() }

// Serve serves a request.
func (p *Placement) Serve(q *Request) { q.Serve(p.env.Engine) }

// Events are the channels of the parts that run; nil: there is no such event.
type Events struct {
	// next hops have changed, or their order on the switch: call HopsChanged
	Hops, Order <-chan struct{}
	Polls       <-chan time.Time   // call Poll
	Held        <-chan placer.Held // of flows, at a poll: call Move
}

// Events returns the channels to wait for.
func (p *Placement) Events() Events {
	e := Events{Order: p.order.Worker().changed()}
	if l := p.labels; l != nil {
		e.Hops, e.Polls, e.Held = l.watch.changed(), l.watch.due.C, l.held
	}
	return e
}

// HopsChanged has next hops read again.
func (p *Placement) HopsChanged() {
	p.redirects.stale()
	if p.labels != nil {
		p.labels.Stale(p.env.Now())
	}
}

// Poll reads counters, and asks which flows are held, beside the loop.
func (p *Placement) Poll(holds Holds) {
	if p.labels != nil {
		p.pollLabels(holds)
	}
}

// Move ends a poll: it moves flows but for those that are held.
func (p *Placement) Move(held placer.Held) {
	if p.labels != nil {
		p.moveLabels(held)
	}
}

// Prepare reads the next hops of new flows, in one go.
func (p *Placement) Prepare(flows []packetio.NewFlow, now time.Time) {
	if p.labels == nil {
		return
	}
	dsts := make([]netip.Addr, len(flows))
	for i := range flows {
		dsts[i] = flows[i].Dst
	}
	p.labels.Prepare(dsts, now)
}

// Place gives a new flow the label that is chosen for it: its own where labels are those of the
// hash.
func (p *Placement) Place(f *placer.Flow, now time.Time) {
	if p.labels != nil {
		p.labels.Place(f, now)
	}
}

// watch is the news of next hops, and when the next poll is due.
type watch struct {
	news *nexthops.News // nil: next hops are read now and then
	due  *time.Timer
	err  error // of the last poll
}

// newWatch returns a watch whose poll is due at once.
func newWatch(log *slog.Logger) watch {
	news, err := nexthops.Subscribe()
	if err != nil {
		log.Warn("cannot subscribe to next hops: changes are seen late", "error", err)
		news = nil
	}
	return watch{news: news, due: time.NewTimer(0)}
}

// stop ends the timer and the news of next hops.
func (w *watch) stop() {
	w.due.Stop()
	if w.news != nil {
		w.news.Close()
	}
}

// changed returns the channel that is readable once next hops have changed; nil without news.
func (w *watch) changed() <-chan struct{} {
	if w.news == nil {
		return nil
	}
	return w.news.Changed()
}

// polled notes the error of a poll; it logs another one than before as text.
func (w *watch) polled(err error, log *slog.Logger, text string) {
	if err != nil && (w.err == nil || w.err.Error() != err.Error()) {
		log.Warn(text, "error", err)
	}
	w.err = err
}
