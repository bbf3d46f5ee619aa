// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"

	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/switch/drift"
	"sluice/orchagent-ext/switch/engine"
)

// redirections make redirections those that are given: the engine, or a [RuleSwitch].
type redirections interface {
	// Redirect returns [engine.ErrPending] where it is to be called again for what is missing.
	Redirect(all []engine.Redirection) (refused map[string]error, err error)

	// Adopt returns those that are on the switch.
	Adopt() ([]engine.Redirection, error)
}

// RuleSwitch has rules to next hops, for any goroutine.
type RuleSwitch interface {
	redirections

	// SetReserve sets how many entries of ACL tables stay free for the operator's rules.
	SetReserve(n int)

	// Lacking returns those of some next hops that have no neighbor on the switch, and those by a
	// port that is down there.
	Lacking(hops []engine.NextHop) (neighbors, ports map[engine.NextHop]bool, err error)

	// Room returns how many more rules the switch takes; known is false before that is known.
	Room() (more int, known bool)

	// Warnings returns what the operator is to do about the room.
	Warnings() []string

	// Losses returns the losses of rules to other programs, for the goroutine of Redirect.
	Losses() *drift.Judge
}

// direct is a [RuleSwitch] as package redirect calls it.
type direct struct{ RuleSwitch }

// Redirect implements [redirect.Switch].
func (d direct) Redirect(all []redirect.Entry) (redirect.Answer, error) {
	refused, err := d.RuleSwitch.Redirect(redirectionsOf(all))
	return answerOf(all, refused, err)
}

// Adopt implements [redirect.Switch].
func (d direct) Adopt() ([]redirect.Entry, error) {
	all, err := d.RuleSwitch.Adopt()
	return entriesOf(all), err
}

// Lacking implements [redirect.Watcher].
func (d direct) Lacking(hops []redirect.NextHop) (neighbors, ports map[redirect.NextHop]bool, err error) {
	all := make([]engine.NextHop, len(hops))
	for i, to := range hops {
		all[i] = engine.NextHop(to)
	}
	lost, down, err := d.RuleSwitch.Lacking(all)
	return hopsOf(lost), hopsOf(down), err
}

// hopsOf returns next hops of the engine as package redirect has them.
func hopsOf(all map[engine.NextHop]bool) map[redirect.NextHop]bool {
	hops := make(map[redirect.NextHop]bool, len(all))
	for to, is := range all {
		hops[redirect.NextHop(to)] = is
	}
	return hops
}

// redirectionOf returns an entry as the engine has it.
func redirectionOf(e *redirect.Entry) engine.Redirection {
	return engine.Redirection{Src: e.Src, Dst: e.Dst, SrcPort: e.SrcPort, VRF: e.VRF, To: engine.NextHop(e.To)}
}

// redirectionsOf returns entries as the engine has them.
func redirectionsOf(entries []redirect.Entry) []engine.Redirection {
	all := make([]engine.Redirection, len(entries))
	for i := range entries {
		all[i] = redirectionOf(&entries[i])
	}
	return all
}

// entriesOf returns redirections of the engine as entries.
func entriesOf(all []engine.Redirection) []redirect.Entry {
	entries := make([]redirect.Entry, len(all))
	for i := range all {
		r := &all[i]
		entries[i] = redirect.Entry{Flow: redirect.Flow{Src: r.Src, Dst: r.Dst, SrcPort: r.SrcPort, VRF: r.VRF}, To: redirect.NextHop(r.To)}
	}
	return entries
}

// answerOf returns the answer to a call for entries. refused is by [engine.Redirection.Key].
func answerOf(entries []redirect.Entry, refused map[string]error, err error) (a redirect.Answer, _ error) {
	for i := range entries {
		r := redirectionOf(&entries[i])
		if why := refused[r.Key()]; why != nil {
			if a.Refused == nil {
				a.Refused = map[redirect.Flow]redirect.Refusal{}
			}
			a.Refused[entries[i].Flow] = redirect.Refusal{Err: why, NoNextHop: errors.Is(why, engine.ErrNoNextHop), Full: errors.Is(why, engine.ErrRefused)}
		}
	}
	switch {
	case errors.Is(err, engine.ErrWaits):
		a.Progress, err = redirect.Waiting, nil
	case errors.Is(err, engine.ErrPending):
		a.Progress, err = redirect.AtWork, nil
	}
	return a, err
}
