// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"maps"
	"net/netip"
	"slices"

	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/switch/engine"
)

// Groups implements [redirect.Network].
func (n carried) Groups(vrf string, dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	groups, err := nexthops.ReadAll(vrf, dsts)
	if err != nil || n.programmed == nil {
		return groups, err
	}
	return nexthops.WithoutAdaptive(groups, n.programmed.Report().all), nil
}

// Uncarried implements [redirect.Network].
func (carried) Uncarried(indexes []int) (map[int]bool, error) { return nexthops.Uncarried(indexes) }

// oneByOne changes the rules of the loop's engine one at a time: removals first.
type oneByOne struct {
	ask func(*Request) answer
	is  map[string]engine.Redirection // as asked for last, less those refused
}

// Adopt implements [redirect.Switch].
func (s *oneByOne) Adopt() ([]redirect.Entry, error) {
	a := s.ask(&Request{adopt: true})
	s.is = byKey(a.rules)
	return entriesOf(a.rules), a.err
}

// byKey returns redirections by [engine.Redirection.Key].
func byKey(all []engine.Redirection) map[string]engine.Redirection {
	by := make(map[string]engine.Redirection, len(all))
	for i := range all {
		by[all[i].Key()] = all[i]
	}
	return by
}

// Redirect implements [redirect.Switch]. After an error the rules that are left are tried with
// the next call.
func (s *oneByOne) Redirect(all []redirect.Entry) (redirect.Answer, error) {
	refused, err := s.change(redirectionsOf(all))
	return answerOf(all, refused, err)
}

// change makes the redirections those that are given, step by step.
func (s *oneByOne) change(all []engine.Redirection) (refused map[string]error, err error) {
	refused = map[string]error{}
	want := byKey(all)
	for _, step := range steps(s.is, want) {
		next := maps.Clone(s.is)
		if next == nil {
			next = map[string]engine.Redirection{}
		}
		if to, stays := want[step]; stays {
			next[step] = to
		} else {
			delete(next, step)
		}
		list := make([]engine.Redirection, 0, len(next))
		for _, key := range slices.Sorted(maps.Keys(next)) {
			list = append(list, next[key])
		}
		a := s.ask(&Request{want: list})
		if a.err != nil {
			return refused, a.err
		}
		maps.Copy(refused, a.refused)
		for key := range a.refused {
			delete(next, key)
		}
		s.is = next
	}
	return refused, nil
}

// steps returns the keys of rules that change, removals first; where all are alike, one empty
// key, by which the switch compares its rules.
func steps(is, want map[string]engine.Redirection) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, stays := want[key]; !stays {
			all = append(all, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if was, there := is[key]; !there || was.To != want[key].To {
			all = append(all, key)
		}
	}
	if len(all) == 0 {
		return []string{""}
	}
	return all
}
