// SPDX-License-Identifier: Apache-2.0

package redirects

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/spread/redirector"
	"sluice/orchagent-ext/switch/engine"
)

// Times of the task.
const (
	pace        = 20 * time.Millisecond  // between two readings of samples
	reportEvery = 500 * time.Millisecond // between two reports

	// heldPatience is how long a decision waits for the loop, which may wait itself for orchagent:
	// links that go down are seen between decisions.
	heldPatience = 10 * time.Millisecond
)

// Settings of a task. The zero value: placement by rules is off.
type Settings struct {
	On       bool
	Rules    redirect.Config
	Reserve  int               // ACL entries that stay free for the operator
	Channels map[string]string // PortChannel by the port that is a member of it
	VRFs     map[string]string // of ports, see [config.Snapshot]
}

// SettingsOf are those of a configuration, by the methods that were chosen.
func SettingsOf(s *config.Snapshot, c engine.Choices) Settings {
	if c.Method(engine.NeedPlacement) != engine.Redirect || !policy.Places(s) {
		return Settings{}
	}
	w := Settings{On: true, Rules: redirect.Config{PerLink: int(*s.Placement.MaxEntriesPerLink)}, Reserve: int(*s.Placement.AclReserve), Channels: map[string]string{}, VRFs: s.VRFs}
	switch s.Placement.Moves {
	case config.MovesAny:
		w.Rules.Moves = redirect.MovesAny
	case config.MovesNever:
		w.Rules.Moves = redirect.MovesNever
	}
	for _, p := range policy.Ports(s) {
		if p.Channel != "" {
			w.Channels[p.Name] = p.Channel
		}
	}
	return w
}

// Environment is the switch and the clock of a task.
type Environment struct {
	// Rules changes rules, from any goroutine; nil: Engine does, which is the loop's.
	Rules  redirector.Switch
	Engine redirector.Switch

	// Held is called by the loop. It returns a function that asks which flows are held now, by
	// their addresses, from any goroutine. nil: all are free.
	Held func() func() placer.Held
	// Programmed returns the groups of the switch, from any goroutine; nil: they are the kernel's.
	Programmed func() []nexthops.Programmed

	// from any goroutine; "" for a number of another kind
	PortName func(number uint64) string
	Log      *slog.Logger
	Now      func() time.Time
}

// Redirects is the task, while the configuration wants it. It is for the goroutine of the loop.
type Redirects struct {
	child task.Child[Settings, *running]
}

// Reconcile brings the task to the settings. Rules stay when it ends.
func (r *Redirects) Reconcile(ctx context.Context, g task.Group, want Settings, env *Environment) {
	moves := want.Rules.Moves
	want.Rules.Moves = 0 // a task that runs keeps its counters where only these change
	_ = r.child.Reconcile(ctx, g, want, func() (*running, error) { return start(&want, moves, env), nil })
	if r.child.Runs() {
		r.child.Task().moves.Store(uint32(moves))
	}
}

// Feed gives the task samples, or nil.
func (r *Redirects) Feed(samples <-chan packetio.Sample) {
	if r.child.Runs() {
		r.child.Task().samples.Store(&samples)
	}
}

// Stale has next hops read again.
func (r *Redirects) Stale() {
	if r.child.Runs() {
		r.child.Task().stale.Store(true)
	}
}

// Calls returns the calls that the loop is to make, each once; nil while the task is off.
func (r *Redirects) Calls() <-chan func() {
	if !r.child.Runs() {
		return nil
	}
	return r.child.Task().calls
}

// Runs reports whether flows are redirected.
func (r *Redirects) Runs() bool { return r.child.Runs() }

// Stop ends the task, and returns when it has ended.
func (r *Redirects) Stop() { r.child.Stop() }

// running is a task that runs.
type running struct {
	*redirector.Redirector
	settings *Settings
	env      *Environment
	news     *nexthops.News // nil: next hops are read now and then
	samples  atomic.Pointer[<-chan packetio.Sample]
	moves    atomic.Uint32 // redirect.Moves
	stale    atomic.Bool   // next hops of the switch may have changed
	calls    chan func()
	ctx      context.Context // of Run
	report   atomic.Pointer[report]
	err      error // of the last poll
}

// report is the state for the operator.
type report struct {
	redirector.Report
	err error // of the last poll
}

// start makes a task. Without a socket for news of next hops these are read each 10 s.
func start(s *Settings, moves redirect.Moves, env *Environment) *running {
	r := &running{settings: s, env: env, calls: make(chan func())}
	r.moves.Store(uint32(moves))
	sw := env.Rules
	if sw == nil {
		sw = &oneByOne{Switch: env.Engine, call: r.call}
	}
	if keeps, is := sw.(interface{ SetReserve(n int) }); is {
		keeps.SetReserve(s.Reserve)
	}
	r.Redirector = redirector.New(s.Rules, network{env.Programmed}, sw, env.Log)
	if env.Held != nil {
		r.Held = r.held
	}
	var err error
	if r.news, err = nexthops.Subscribe(); err != nil {
		env.Log.Warn("changes of next hops are seen late", "error", err)
	}
	return r
}

// Run implements [task.Runner].
func (r *running) Run(ctx context.Context) error {
	r.ctx = ctx
	var changed <-chan struct{}
	if r.news != nil {
		defer r.news.Close()
		changed = r.news.Changed()
	}
	due := time.NewTicker(pace)
	defer due.Stop()
	reportAt := time.Time{}
	for {
		r.poll()
		if now := r.env.Now(); now.Sub(reportAt) >= reportEvery || now.Before(reportAt) {
			reportAt = now
			r.report.Store(&report{r.Report(now), r.err})
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
func (r *running) poll() {
	now := r.env.Now()
	var samples <-chan packetio.Sample
	if fed := r.samples.Load(); fed != nil {
		samples = *fed
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
		r.env.Log.Warn("flows cannot be redirected", "error", err)
	}
	r.err = err
}

// held returns which flows are held now; nil: the loop is busy, or the task ends.
func (r *running) held() func(redirect.Flow) bool {
	var ask func() placer.Held
	if !r.callWithin(heldPatience, func() { ask = r.env.Held() }) {
		return nil
	}
	held := ask()
	return func(f redirect.Flow) bool {
		return held(engine.FlowEntry{Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort})
	}
}

// link is the netdev that routes have for a port: that of its PortChannel, where it is in one.
func (r *running) link(port uint64) string {
	name := r.env.PortName(port)
	if channel := r.settings.Channels[name]; channel != "" {
		return channel
	}
	return name
}

// call has the loop call f, and returns when it has; false: the task ends.
func (r *running) call(f func()) bool { return r.callBefore(nil, f) }

// callWithin is call by a loop that begins with it within a time; false: it does not, or the task
// ends.
func (r *running) callWithin(patience time.Duration, f func()) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	return r.callBefore(late.C, f)
}

// callBefore has the loop call f. It returns false where late or the end of the task comes before
// the loop begins; once begun, f is waited for.
func (r *running) callBefore(late <-chan time.Time, f func()) bool {
	done := make(chan struct{})
	select {
	case r.calls <- func() { defer close(done); f() }:
	case <-late:
		return false
	case <-r.ctx.Done():
		return false
	}
	<-done
	return true
}

// network is that of the kernel, less the groups that the switch balances itself.
type network struct {
	programmed func() []nexthops.Programmed // nil: no switch does
}
