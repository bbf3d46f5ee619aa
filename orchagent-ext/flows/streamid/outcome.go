// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"time"

	"sluice/orchagent-ext/flows/flow"
)

// finish records the outcomes of the steps, in the same order, and returns the flows
// whose users know an id that they have lost.
func (c *claims) finish(steps []step, outcomes []outcome, now time.Duration) (changed []change) {
	chosen := map[uint16]bool{}
	for _, s := range steps {
		chosen[s.id] = true
	}
	for i, s := range steps {
		f, o := s.claim, outcomes[i]
		f.busy, f.maybe = false, false
		switch {
		case s.remove && f.users == 0:
			c.drop(f)
		case s.remove:
			f.phase = wanted
			c.waiting = append(c.waiting, f)
		case o.ok:
			changed = c.claimed(f, now, changed)
		case o.other != 0:
			f.id = o.other
			c.waiting = append(c.waiting, f)
		default:
			if id := freeOf(f.id, window, o.used, chosen); id != 0 {
				chosen[id] = true
				f.id = id
			} else {
				f.scan = true
			}
			c.waiting = append(c.waiting, f)
		}
	}
	return changed
}

// claimed records that etcd has the flow's reference. A flow whose users left meanwhile
// leaves at once.
func (c *claims) claimed(f *claim, now time.Duration, changed []change) []change {
	c.hold(f)
	if f.users == 0 {
		c.leave(f, now)
		return changed
	}
	if f.told != 0 && f.told != f.id {
		changed = append(changed, change{f, f.told, f.id})
	}
	f.told = f.id
	f.decided()
	return changed
}

// unknown records that it is unknown whether the steps were carried out.
func (c *claims) unknown(steps []step) {
	for _, s := range steps {
		s.busy, s.maybe, s.phase = false, true, wanted
		c.waiting = append(c.waiting, s.claim)
	}
}

// scans reports whether flows wait for the ids in use, all of them.
func (c *claims) scans() bool {
	for _, f := range c.waiting {
		if f.scan {
			return true
		}
	}
	return false
}

// scanned records the ids in use, and returns the flows that fail because all are.
func (c *claims) scanned(used []uint16, now time.Duration) (changed []change) {
	chosen := map[uint16]bool{}
	for _, id := range used {
		chosen[id] = true
	}
	var keep []*claim
	for _, f := range c.waiting {
		if f.scan {
			f.scan = false
			id := freeOf(f.id, maxClaims, nil, chosen)
			if id == 0 {
				c.full = now + fullPause
				f.err = flow.ErrNoStreamID
				c.drop(f)
				changed = append(changed, change{f, f.told, 0})
				f.decided()
				continue
			}
			chosen[id] = true
			f.id = id
		}
		keep = append(keep, f)
	}
	c.waiting = keep
	return changed
}

// lost records that etcd may have dropped all keys of the node: it claims the ids of
// wanted flows again, the same ones if possible.
func (c *claims) lost() {
	c.waiting, c.leaving, c.byID = nil, nil, map[uint16]*claim{}
	for _, f := range c.byName {
		f.busy, f.maybe, f.scan, f.phase = false, false, false, wanted
		f.decided()
		if f.users == 0 {
			c.drop(f)
		} else {
			c.waiting = append(c.waiting, f)
		}
	}
}

// change is a flow whose users know the id old (0: they know none), and whose id is now
// another (0: the flow was dropped).
type change struct {
	*claim
	old, now uint16
}

// Change is a flow whose Stream ID changed.
type Change struct {
	Key      flow.Key
	Old, New uint16 // New 0: all ids are in use
}

// tell returns the changes for the users of ids, and forgets the flows that were dropped.
func (c *claims) tell(changed []change) (told []Change) {
	if len(changed) == 0 {
		return nil
	}
	of := map[*claim]change{}
	for _, ch := range changed {
		of[ch.claim] = ch
	}
	for k, f := range c.byKey {
		ch, ok := of[f]
		if !ok {
			continue
		}
		if ch.now == 0 {
			delete(c.byKey, k)
		}
		if ch.old != 0 {
			told = append(told, Change{Key: k, Old: ch.old, New: ch.now})
		}
	}
	return told
}

// freeOf returns the first free id of the n after id, modulo the range: one outside of
// used and chosen. It returns 0 if all are taken.
func freeOf(id uint16, n int, used []uint16, chosen map[uint16]bool) uint16 {
	taken := map[uint16]bool{}
	for _, u := range used {
		taken[u] = true
	}
	for range n {
		if id++; id == 0 {
			id = 1
		}
		if !taken[id] && !chosen[id] {
			return id
		}
	}
	return 0
}
