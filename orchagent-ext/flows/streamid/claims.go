// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"time"

	"sluice/orchagent-ext/flows/flow"
)

// claims is the state of this node's ids: the flows that need one, the keys in etcd, and
// the steps that are due. It is pure: requests, clock and lock are its caller's.
type claims struct {
	quarantine time.Duration
	byName     map[string]*claim
	byKey      map[flow.Key]*claim
	byID       map[uint16]*claim // held
	waiting    []*claim          // to be claimed, in this order
	leaving    []departure       // released, the oldest first
	full       time.Duration     // until then all ids are in use
}

// claim is one flow of this node.
type claim struct {
	name  string
	id    uint16 // to try next; or that is, or may be, in etcd under this node's lease
	phase phase
	users int    // keys of the flow table
	told  uint16 // id that the users know, or 0

	busy  bool          // part of the transaction under way
	maybe bool          // wanted: an answer was lost, the reference may be there
	scan  bool          // wanted: all ids near the first one are in use
	until time.Duration // leaving: when the reference may be removed
	done  chan struct{} // closed when the claim is decided, or nil
	err   error         // reason against an id; the claim is dropped
}

// phase is the state of a claim.
type phase uint8

const (
	wanted  phase = iota
	held          // the reference is in etcd
	leaving       // it is in etcd, unused
	gone          // dropped
)

// departure is a flow whose id is released at a time, unless the flow is wanted again by
// then.
type departure struct {
	*claim
	until time.Duration
}

// stale reports whether the departure is void: its flow is wanted again, left later, or
// has a step under way.
func (d departure) stale() bool { return d.phase != leaving || d.claim.until != d.until || d.busy }

// maxClaims is the number of Stream IDs, so more flows cannot have one.
const maxClaims = 65535

// step is one thing to do in etcd: write the references of a claim, or remove
// them.
type step struct {
	*claim
	id     uint16
	remove bool
}

// outcome of a step.
type outcome struct {
	ok    bool
	other uint16   // not ok: the flow has this id; 0: the id is another flow's
	used  []uint16 // then: ids that are in use, of the window behind the id
}

// window is how many ids behind a taken one are looked at.
const window = 64

// newClaims returns claims without flows; quarantine is the time between the release of
// an id and its removal from etcd.
func newClaims(quarantine time.Duration) *claims {
	return &claims{quarantine: quarantine, byName: map[string]*claim{}, byKey: map[flow.Key]*claim{}, byID: map[uint16]*claim{}}
}

// fullPause is the time between requests to a domain whose ids are all in use.
const fullPause = time.Second

// want makes k a user of the flow called name; first is the id to try first. It
// returns nil when all ids are in use.
func (c *claims) want(k flow.Key, name string, first uint16, now time.Duration) *claim {
	f := c.byName[name]
	switch {
	case f == nil && (len(c.byName) >= maxClaims || now < c.full):
		return nil
	case f == nil:
		f = &claim{name: name, id: first}
		c.byName[name] = f
		c.waiting = append(c.waiting, f)
	case f.phase == leaving && !f.busy:
		c.hold(f)
		f.told = f.id
	}
	f.users++
	c.byKey[k] = f
	return f
}

// release takes k from the users of its flow.
func (c *claims) release(k flow.Key, now time.Duration) {
	f := c.byKey[k]
	if f == nil {
		return
	}
	delete(c.byKey, k)
	if f.users--; f.users > 0 {
		return
	}
	f.told = 0
	f.decided()
	if f.phase == held {
		c.leave(f, now)
	}
}

// hold records that etcd has the flow's reference.
func (c *claims) hold(f *claim) {
	f.phase, f.maybe = held, false
	c.byID[f.id] = f
}

// leave begins the quarantine of a flow that is held.
func (c *claims) leave(f *claim, now time.Duration) {
	delete(c.byID, f.id)
	f.phase, f.until = leaving, now+c.quarantine
	c.leaving = append(c.leaving, departure{f, f.until})
}

// decided wakes who waits for the flow.
func (f *claim) decided() {
	if f.done != nil {
		close(f.done)
		f.done = nil
	}
}

// plan returns at most limit steps for one transaction. Each flow and each id is in one
// step at most.
func (c *claims) plan(now time.Duration, limit int) []step {
	var steps []step
	ids := map[uint16]bool{}
	add := func(f *claim, remove bool) {
		f.busy, ids[f.id] = true, true
		steps = append(steps, step{claim: f, id: f.id, remove: remove})
	}
	for len(c.leaving) > 0 && len(steps) < limit/2 {
		d := c.leaving[0]
		if d.until > now {
			break
		}
		c.leaving = c.leaving[1:]
		if !d.stale() {
			add(d.claim, true)
		}
	}
	var later []*claim
	for len(c.waiting) > 0 && len(steps) < limit {
		f := c.waiting[0]
		c.waiting = c.waiting[1:]
		switch {
		case f.users == 0 && !f.maybe:
			c.drop(f)
		case f.scan || ids[f.id]:
			later = append(later, f)
		default:
			add(f, f.users == 0)
		}
	}
	if len(later) > 0 {
		c.waiting = append(later, c.waiting...)
	}
	return steps
}

// next returns the next time at which plan will return further steps by itself; false if
// it waits for an event.
func (c *claims) next() (time.Duration, bool) {
	if len(c.leaving) == 0 {
		return 0, false
	}
	return c.leaving[0].until, true
}

// drop forgets the flow.
func (c *claims) drop(f *claim) {
	delete(c.byName, f.name)
	f.phase = gone
}
