// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/switch/drift"
	"sluice/orchagent-ext/switch/engine"
)

// Times of the task.
const (
	redirectPace = 20 * time.Millisecond  // between two readings of samples
	reportEvery  = 500 * time.Millisecond // between two reports
)

// Rules are the settings of placement by rules to next hops. With the zero value it is off.
type Rules struct {
	On       bool
	Config   redirect.Config
	Reserve  int               // ACL entries that stay free for the operator
	Channels map[string]string // PortChannel by the port that is a member of it
	VRFs     map[string]string // of ports that have one, or [config.SeveralVRFs]
}

// Holds are the flows that flow control holds.
type Holds interface {
	// Held asks which flows are held now, by their addresses; nil: that is unknown, and all flows
	// stay. It is for any goroutine but the loop's.
	Held() placer.Held
}

// redirects is the task that keeps rules, while the configuration wants it. It is for the goroutine
// of the loop.
type redirects struct {
	part   task.Part[Rules, *redirectReport, *redirecting]
	losses drift.Summary // of rules, as of the last report
}

// reconcile brings the task to the settings. Rules stay when it ends. programmed returns the groups
// of the switch, from any goroutine; nil: they are the kernel's.
func (r *redirects) reconcile(g task.Group, want Rules, env *Environment, programmed *programmed) {
	moves := want.Config.Moves
	want.Config.Moves = 0 // a task that runs keeps its counters where only these change
	_ = r.part.Reconcile(g, want, func() (*redirecting, error) { return newRedirecting(&want, moves, env, programmed), nil })
	if r.part.Runs() {
		r.part.Worker().moves.Store(uint32(moves))
	}
}

// feed gives the task samples, or nil.
func (r *redirects) feed(samples <-chan packetio.Sample) {
	if r.part.Runs() {
		r.part.Worker().feed.Store(&feed{samples})
	}
}

// stale has next hops read again.
func (r *redirects) stale() {
	if r.part.Runs() {
		r.part.Worker().stale.Store(true)
	}
}

// requests returns the requests that the loop is to serve, each once; nil while the task is off.
func (r *redirects) requests() <-chan *Request {
	if !r.part.Runs() {
		return nil
	}
	return r.part.Worker().requests
}

// lost returns the losses of rules to other programs. Its counts stay where flows are not redirected any more.
func (r *redirects) lost() drift.Summary {
	if !r.part.Runs() {
		r.losses.Texts, r.losses.Warnings = nil, nil
	} else if is := r.part.Report(); is != nil {
		r.losses = is.losses
	}
	return r.losses
}

// runs reports whether flows are redirected.
func (r *redirects) runs() bool { return r.part.Runs() }

// stop ends the task, and returns when it has ended.
func (r *redirects) stop() { r.part.Stop() }

// redirecting is the task while it runs.
type redirecting struct {
	*redirect.Redirector
	settings *Rules
	env      *Environment
	news     *nexthops.News // nil: next hops are read now and then
	feed     atomic.Pointer[feed]
	moves    atomic.Uint32 // redirect.Moves
	stale    atomic.Bool   // next hops of the switch may have changed
	requests chan *Request
	ctx      context.Context // of Run
	reported atomic.Pointer[redirectReport]
	err      error // of the last poll
}

// feed is where samples come from. It is replaced as a whole.
type feed struct{ samples <-chan packetio.Sample }

// redirectReport is the state for the operator.
type redirectReport struct {
	redirect.Report
	err    error         // of the last poll
	losses drift.Summary // of rules
}

// newRedirecting makes a task. Without a socket for news of next hops these are read each 10 s.
func newRedirecting(s *Rules, moves redirect.Moves, env *Environment, order *programmed) *redirecting {
	r := &redirecting{settings: s, env: env, requests: make(chan *Request)}
	r.moves.Store(uint32(moves))
	var sw redirect.Switch = &oneByOne{ask: r.ask}
	if env.Rules != nil {
		env.Rules.SetReserve(s.Reserve)
		sw = direct{env.Rules}
	}
	r.Redirector = redirect.New(s.Config, carried{order}, sw, env.Log)
	if env.Holds != nil {
		r.Holds = pairs{env.Holds}
	}
	var err error
	if r.news, err = nexthops.Subscribe(); err != nil {
		env.Log.Warn("cannot subscribe to next hops: changes are seen late", "error", err)
	}
	return r
}

// Report implements [task.Worker]: nil before the first poll.
func (r *redirecting) Report() *redirectReport { return r.reported.Load() }

// Run implements [task.Worker].
func (r *redirecting) Run(ctx context.Context) error {
	r.ctx = ctx
	var changed <-chan struct{}
	if r.news != nil {
		defer r.news.Close()
		changed = r.news.Changed()
	}
	due := time.NewTicker(redirectPace)
	defer due.Stop()
	reportAt := time.Time{}
	for {
		r.poll()
		if now := r.env.Now(); now.Sub(reportAt) >= reportEvery || now.Before(reportAt) {
			reportAt = now
			is := &redirectReport{Report: r.Redirector.Report(now), err: r.err}
			if r.env.Rules != nil {
				is.losses = r.env.Rules.Losses().Summary()
			}
			r.reported.Store(is)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			r.Stale()
		case <-due.C:
		}
	}
}

// poll reads samples, and changes rules.
func (r *redirecting) poll() {
	now := r.env.Now()
	var samples <-chan packetio.Sample
	if f := r.feed.Load(); f != nil {
		samples = f.samples
	}
	for range len(samples) {
		s := <-samples
		vrf := r.settings.VRFs[r.env.PortName(s.From)]
		if vrf != "" && r.env.Rules == nil || vrf == config.SeveralVRFs {
			// its next hops are unknown, or the switch takes those of the default VRF alone
			continue
		}
		r.Sample(redirect.Flow{Src: s.Src, Dst: s.Dst, SrcPort: s.SrcPort, VRF: vrf}, s.From, r.link(s.To), s.Octets, now)
	}
	if r.stale.Swap(false) {
		r.Stale()
	}
	r.SetMoves(redirect.Moves(r.moves.Load()))
	err := r.Poll(now)
	if err != nil && r.ctx.Err() == nil && (r.err == nil || r.err.Error() != err.Error()) {
		r.env.Log.Warn("cannot redirect flows", "error", err)
	}
	r.err = err
}

// pairs are holds as package redirect asks for them.
type pairs struct{ Holds }

// Held implements [redirect.Holds].
func (p pairs) Held() func(redirect.Flow) bool {
	held := p.Holds.Held()
	if held == nil {
		return nil
	}
	return func(f redirect.Flow) bool {
		return held(engine.FlowEntry{Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort})
	}
}

// link is the netdev that routes have for a port: that of its PortChannel, where it is in one.
func (r *redirecting) link(port uint64) string {
	name := r.env.PortName(port)
	if channel := r.settings.Channels[name]; channel != "" {
		return channel
	}
	return name
}

// carried is the network of the kernel, less the groups that the switch balances itself.
type carried struct {
	programmed *programmed // nil: no switch does
}
