// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/saidriver"
	sai "sluice/sai-shim"
)

// Times of the guard.
const (
	pollInterval = 250 * time.Millisecond // between two checks of the call that is being made
	publishTime  = time.Second            // limit of one Publish

	// Of the end, which begins with SIGTERM: a container that is stopped is killed after 10 s.
	endTime  = 7 * time.Second         // until then no call is cut
	callTime = 4 * time.Second         // age of a call that is cut after that
	lastTime = 9 * time.Second         // from then on each call is cut
	exitTime = 9500 * time.Millisecond // when the process has ended in a call
)

// ExitHung is the exit status where a call of the SAI library hangs after SIGTERM.
const ExitHung = 3

// GuardConfig has the parameters of a [Guard].
type GuardConfig struct {
	Library string // name of library and profile: an exclusion is for one such name
	// path, without suffix, of journal and exclusions; "": neither outlives the process
	Files string
	Limit time.Duration // of a call; one that takes longer hangs
	Log   *slog.Logger

	// Publish publishes the call that hangs and when it began; "" where every call returns.
	Publish func(ctx context.Context, call string, since time.Time) error
}

// Guard limits the trust in a SAI library. It records each call while it is made, excludes
// methods and calls that ended an earlier process, and reports a call that hangs.
type Guard struct {
	*Watch
	c        GuardConfig
	ended    string // how the process before ended; "": in no call, or by a kill
	journal  string // why the journal is not as it should be; "": it is
	creating string // type of the object that it was creating then, or ""

	// Exclusions of this library: those of earlier processes, and the new one. NewGuard reads
	// them, and derives the fields after it; all are fixed from then on.
	exclusions  []exclusion
	noExtension string          // why the library is never asked for the extension; "": it is asked
	avoid       map[string]bool // calls that are never made
	avoided     []string        // why, for the operator

	// mu guards hangs: Run writes it, and any goroutine may read it.
	mu    sync.Mutex
	hangs string // as Hangs returns it
}

// NewGuard opens the journal, and excludes the method or the call that ended the process
// before this one.
func NewGuard(c GuardConfig) (*Guard, error) {
	journal := ""
	if c.Files != "" {
		journal = c.Files + "-sai.journal"
	}
	g := &Guard{c: c, avoid: map[string]bool{}}
	watch, ended, err := New(journal, c.Limit, func(err error) {
		c.Log.Warn("the journal of the SAI library", "error", err)
		g.journal = err.Error()
	})
	if err != nil {
		return nil, fmt.Errorf("watch the calls of the SAI library: %w", err)
	}
	g.Watch = watch
	if ended != nil {
		if object, creates := strings.CutPrefix(ended.Call, "create "); creates {
			g.creating, _, _ = strings.Cut(object, " ")
		}
	}
	var unkept []exclusion
	switch {
	case ended == nil:
	case !ended.AtFault():
		c.Log.Info(ended.String())
	default:
		g.ended = ended.String()
		c.Log.Error(g.ended)
		if x, ok := exclusionOf(ended, c.Library); ok && c.Files != "" {
			if err := addExclusion(g.exclusionFile(), x, c.Log); err != nil {
				c.Log.Warn("the next process will try again what ended sluiced", "error", err)
				unkept = append(unkept, x)
			}
		}
	}
	if c.Files != "" {
		g.exclusions = append(readExclusions(g.exclusionFile(), c.Library, c.Log), unkept...)
	}
	for _, x := range g.exclusions {
		switch x.Need {
		case needExtension:
			g.noExtension = x.Why + "; this library is not asked for the extension again"
			c.Log.Warn(g.noExtension)
		case needCall:
			g.avoid[x.Call] = true
			why := x.Why + "; this library is not called so again"
			if x.Call == sai.Query {
				why = x.Why + "; this library is not asked again what it can do: each method is tried"
			}
			g.avoided = append(g.avoided, why)
			c.Log.Warn(why)
		}
	}
	return g, nil
}

// exclusionFile returns the path of the file of exclusions.
func (g *Guard) exclusionFile() string { return g.c.Files + "-sai.json" }

// NoExtension reports whether the library is opened without the question for the
// extension. It is the setting of the field of that name of [sai.Library].
func (g *Guard) NoExtension() bool { return g.noExtension != "" }

// Avoid returns the calls that [sai.Library] leaves out, by their text without ids. The
// map is shared, and fixed once NewGuard returned. [sai.Query] means all calls of
// that name.
func (g *Guard) Avoid() map[string]bool { return g.avoid }

// Creating returns the type of the object that the process before was creating when it
// ended, or "".
func (g *Guard) Creating() string { return g.creating }

// excluded returns the methods that ended a process, with the same library and policy.
func (g *Guard) excluded(p engine.Policy) engine.Abilities {
	a := engine.Abilities{}
	for _, x := range g.exclusions {
		if x.Need != needExtension && x.Need != needCall && (x.Mark == "" || x.Mark == Mark(p)) {
			a.Set(x.Need, x.Method, engine.Ability{Reason: x.Why + "; it is not tried again with this library and this configuration"})
		}
	}
	return a
}

// Driver returns a driver whose changes are recorded in the journal. One guard has one
// driver: the journal has place for one step of the engine.
func (g *Guard) Driver(d *saidriver.Driver) *Driver {
	return &Driver{Driver: d, record: g.Try, excluded: g.excluded}
}

// Warnings returns, for the operator, how the process before ended, and the exclusions.
// It is nil after a process that ended well, for a library without exclusions.
func (g *Guard) Warnings() []string {
	all := slices.Clone(g.avoided)
	if g.noExtension != "" {
		all = append(all, g.noExtension)
	}
	if g.ended != "" && !slices.ContainsFunc(all, func(why string) bool { return strings.HasPrefix(why, g.ended) }) {
		all = append([]string{g.ended}, all...)
	}
	if g.Lost() {
		all = append(all, lostJournal)
	} else if g.journal != "" {
		all = append(all, g.journal)
	}
	return all
}

// lostJournal is the warning of a journal whose file was cut while it was mapped.
const lostJournal = "the file of the journal of SAI calls was cut, or its disk failed: which call ends sluiced is unknown to the next process"

// Hangs returns the call that hangs, and since when, as text; "" where every call
// returns. It is safe for concurrent use.
func (g *Guard) Hangs() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hangs
}

// Run publishes each call that hangs, until ctx is done. A failed Publish is repeated. It
// returns nil. Publish gets "" once the call has returned.
func (g *Guard) Run(ctx context.Context) error {
	published, lost := "", false
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		call, since := g.Hanging()
		g.setHangs(call, since)
		if now := g.Lost(); now != lost {
			lost = now
			g.c.Log.Warn(lostJournal)
		}
		if call != published && g.publish(ctx, call, since) == nil {
			published = call
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// setHangs stores the call that hangs, for [Guard.Hangs], and logs each change.
func (g *Guard) setHangs(call string, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.hangs
	if g.hangs = ""; call != "" {
		g.hangs = fmt.Sprintf("the SAI library does not return from %s, since %s", call, since.UTC().Format(time.RFC3339))
	}
	switch {
	case was == g.hangs:
	case call != "":
		g.c.Log.Error(g.hangs)
	default:
		g.c.Log.Warn("the SAI library has returned", "before", was)
	}
}

// publish reports a call that hangs in STATE_DB, within publishTime.
func (g *Guard) publish(ctx context.Context, call string, since time.Time) error {
	ctx, stop := context.WithTimeout(ctx, publishTime)
	defer stop()
	return g.c.Publish(ctx, call, since)
}

// EnforceEnd waits until ctx is done, and ends the process with [ExitHung] where a call goes on for too long
// after that, within 10 s.
func (g *Guard) EnforceEnd(ctx context.Context) {
	<-ctx.Done()
	began := time.Now()
	for {
		if call, since := g.Open(); call != "" && cuts(time.Since(began), time.Since(since)) {
			g.c.Log.Error("sluiced ends in a call of the SAI library that does not return; the next one takes over what is on the switch", "call", call, "since", since)
			ctx, stop := context.WithDeadline(context.WithoutCancel(ctx), began.Add(exitTime))
			_ = g.publish(ctx, call, since)
			stop()
			os.Exit(ExitHung)
		}
		time.Sleep(pollInterval)
	}
}

// cuts reports whether the process ends in a call: a time after SIGTERM, and by the age of the call. A call has
// 4 s where it begins until 5 s after SIGTERM.
func cuts(after, age time.Duration) bool {
	return after >= lastTime || after >= endTime && age >= callTime
}
