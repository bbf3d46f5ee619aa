// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flows/flow"
)

// trial drives claims and writes down what they want done.
type trial struct {
	*claims
	now   time.Duration
	steps []step
	log   []string
}

const trialQuarantine = 5 * time.Second

func trialKey(n int) flow.Key { return flow.Key{DestQP: uint32(n)} }

// want makes key n a user of the flow name.
func (t *trial) want(n int, name string, first uint16) *claim {
	f := t.claims.want(trialKey(n), name, first, t.now)
	if f == nil {
		t.log = append(t.log, name+" refused")
	}
	return f
}

func (t *trial) release(n int) { t.claims.release(trialKey(n), t.now) }

// plan writes down the steps that are due.
func (t *trial) plan() {
	t.steps = t.claims.plan(t.now, 10)
	line := ""
	for _, s := range t.steps {
		verb := "claim"
		if s.remove {
			verb = "remove"
		}
		line += fmt.Sprintf("%s %s %d; ", verb, s.name, s.id)
	}
	t.log = append(t.log, line)
}

// end ends the transaction with these outcomes, or with ok for all.
func (t *trial) end(outcomes ...outcome) {
	for len(outcomes) < len(t.steps) {
		outcomes = append(outcomes, outcome{ok: true})
	}
	t.say(t.finish(t.steps, outcomes, t.now))
}

func (t *trial) say(changed []change) {
	for _, ch := range t.tell(changed) {
		t.log = append(t.log, fmt.Sprintf("key %d: %d became %d", ch.Key.DestQP, ch.Old, ch.New))
	}
}

func TestClaimsAreSettled(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*trial)
		want []string // steps of each plan, and what the users are told
	}{
		"a new flow": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end()
			t.plan()
		}, []string{"claim a 7; ", ""}},
		"another node gave the flow an id": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end(outcome{other: 9})
			t.plan()
			t.end()
		}, []string{"claim a 7; ", "claim a 9; "}},
		"the id is another flow's": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end(outcome{used: []uint16{7, 8, 10}})
			t.plan()
		}, []string{"claim a 7; ", "claim a 9; "}},
		"behind the last id comes the first": {func(t *trial) {
			t.want(1, "a", 65534)
			t.plan()
			t.end(outcome{used: []uint16{65534, 65535}})
			t.plan()
		}, []string{"claim a 65534; ", "claim a 1; "}},
		"no two flows with one id in a transaction": {func(t *trial) {
			t.want(1, "a", 7)
			t.want(2, "b", 7)
			t.want(3, "c", 8)
			t.plan()
			t.end()
			t.plan()
			t.end(outcome{used: []uint16{7, 8}})
			t.plan()
		}, []string{"claim a 7; claim c 8; ", "claim b 7; ", "claim b 9; "}},
		"flows that met the same ids choose different ones": {func(t *trial) {
			t.want(1, "a", 7)
			t.want(2, "b", 8)
			t.plan()
			t.end(outcome{used: []uint16{7, 8}}, outcome{used: []uint16{8}})
			t.plan()
		}, []string{"claim a 7; claim b 8; ", "claim a 9; claim b 10; "}},
		"two keys of a flow": {func(t *trial) {
			t.want(1, "a", 7)
			t.want(2, "a", 7)
			t.plan()
			t.end()
			t.release(1)
			t.release(1)
			t.now += time.Hour
			t.plan()
			t.release(2)
			t.plan()
			t.now += trialQuarantine
			t.plan()
		}, []string{"claim a 7; ", "", "", "remove a 7; "}},
		"wanted again in the quarantine": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end()
			t.release(1)
			t.now += trialQuarantine - 1
			if f := t.want(1, "a", 7); f.phase != held {
				t.log = append(t.log, "not held")
			}
			t.now++
			t.plan()
			t.release(1)
			t.now += trialQuarantine - 1
			t.plan()
			t.now++
			t.plan()
			t.end()
			t.now += time.Hour
			t.plan()
		}, []string{"claim a 7; ", "", "", "remove a 7; ", ""}},
		"wanted again while it is removed": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end()
			t.release(1)
			t.now += trialQuarantine
			t.plan()
			if f := t.want(1, "a", 3); f.phase == held {
				t.log = append(t.log, "held")
			}
			t.end()
			t.plan()
		}, []string{"claim a 7; ", "remove a 7; ", "claim a 7; "}},
		"released while it is claimed": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.release(1)
			t.end()
			t.plan()
			t.now += trialQuarantine
			t.plan()
		}, []string{"claim a 7; ", "", "remove a 7; "}},
		"released before it is claimed": {func(t *trial) {
			t.want(1, "a", 7)
			t.release(1)
			t.plan()
			if len(t.byName) != 0 {
				t.log = append(t.log, "kept")
			}
		}, []string{""}},
		"an answer is lost": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.unknown(t.steps)
			t.plan()
		}, []string{"claim a 7; ", "claim a 7; "}},
		"an answer is lost, and the flow released": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.unknown(t.steps)
			t.release(1)
			t.plan()
			t.end()
			t.plan()
		}, []string{"claim a 7; ", "remove a 7; ", ""}},
		"the answer to a removal is lost, and the flow wanted": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end()
			t.release(1)
			t.now += trialQuarantine
			t.plan()
			t.unknown(t.steps)
			t.want(1, "a", 7)
			t.plan()
			t.end()
			t.plan()
		}, []string{"claim a 7; ", "remove a 7; ", "claim a 7; ", ""}},
		"the lease is lost, the id is free": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end(outcome{other: 9})
			t.plan()
			t.end()
			t.lost()
			t.plan()
			t.end()
			t.plan()
		}, []string{"claim a 7; ", "claim a 9; ", "claim a 9; ", ""}},
		"the lease is lost, the id taken": {func(t *trial) {
			t.want(1, "a", 7)
			t.want(2, "a", 7)
			t.plan()
			t.end()
			t.release(2)
			t.lost()
			t.plan()
			t.end(outcome{used: []uint16{7}})
			t.plan()
			t.end()
		}, []string{"claim a 7; ", "claim a 7; ", "claim a 8; ", "key 1: 7 became 8"}},
		"the lease is lost in the quarantine": {func(t *trial) {
			t.want(1, "a", 7)
			t.plan()
			t.end()
			t.release(1)
			t.lost()
			t.now += time.Hour
			t.plan()
		}, []string{"claim a 7; ", ""}},
		"nothing is free near, nor anywhere": {func(t *trial) {
			t.want(1, "a", 1)
			t.plan()
			t.end()
			t.lost()
			t.plan()
			t.end(outcome{used: allIDs()})
			t.plan()
			if !t.scans() {
				t.log = append(t.log, "no scan")
			}
			t.say(t.scanned(allIDs(), t.now))
			if f := t.byKey[trialKey(1)]; f != nil {
				t.log = append(t.log, "kept")
			}
			t.want(2, "b", 1)
			t.now += fullPause
			t.want(2, "b", 1)
		}, []string{"claim a 1; ", "claim a 1; ", "", "key 1: 1 became 0", "b refused"}},
		"nothing is free near, one id far": {func(t *trial) {
			t.want(1, "a", 1)
			t.plan()
			t.end(outcome{used: allIDs()})
			t.scanned(allIDs()[:60000], t.now)
			t.plan()
		}, []string{"claim a 1; ", "claim a 60001; "}},
		"half of a transaction is for what waits to be claimed": {func(t *trial) {
			for n := range 8 {
				t.want(n, fmt.Sprint("old", n), uint16(n+1))
			}
			t.plan()
			t.end()
			for n := range 8 {
				t.release(n)
			}
			t.now += trialQuarantine
			t.want(100, "new", 100)
			t.plan()
		}, []string{
			"claim old0 1; claim old1 2; claim old2 3; claim old3 4; claim old4 5; claim old5 6; claim old6 7; claim old7 8; ",
			"remove old0 1; remove old1 2; remove old2 3; remove old3 4; remove old4 5; claim new 100; ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &trial{claims: newClaims(trialQuarantine)}
			test.do(tr)
			if diff := cmp.Diff(test.want, tr.log); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMoreFlowsThanIDs(t *testing.T) {
	c := newClaims(trialQuarantine)
	for n := range maxClaims {
		if c.want(trialKey(n), fmt.Sprint(n), uint16(n+1), 0) == nil {
			t.Fatalf("flow %d is refused", n)
		}
	}
	if c.want(trialKey(maxClaims), "one more", 1, 0) != nil {
		t.Error("a flow more than there are ids")
	}
	if c.want(trialKey(maxClaims), "7", 1, 0) == nil {
		t.Error("a key more of a flow is refused")
	}
}

func TestWaitersLearnWhy(t *testing.T) {
	c := newClaims(trialQuarantine)
	f := c.want(trialKey(1), "a", 1, 0)
	f.done = make(chan struct{})
	done := f.done
	steps := c.plan(0, 1)
	c.finish(steps, []outcome{{used: allIDs()}}, 0)
	c.scanned(allIDs(), 0)
	select {
	case <-done:
	default:
		t.Error("who waits is not woken")
	}
	if !errors.Is(f.err, flow.ErrNoStreamID) {
		t.Errorf("%v", f.err)
	}
}
