// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// texts are the messages that were sent to neighbors, a text each.
func (f *fake) texts() (all []string) {
	for _, s := range f.take() {
		if s.frame {
			all = append(all, fmt.Sprint(s.port, " pfc ", s.pfc.Enable, " ", s.pfc.Quanta[3] != 0))
		} else {
			all = append(all, fmt.Sprint(s.port, " ", s.pfcm.Action, " ", s.pfcm.Time))
		}
	}
	return all
}

func (f *fake) want(what string, want ...string) {
	f.t.Helper()
	if got := f.texts(); !slices.Equal(got, want) {
		f.t.Errorf("%s: sent %q, want %q", what, got, want)
	}
}

// All flows of two hosts without flow labels have one Stream ID, and others can have the same: to the
// neighbor they are one flow. It is released when the last of them has drained.
//
//conformance:draft-yang/components draft-yang/signal
func TestFlowsOfOneStreamAreReleasedTogether(t *testing.T) {
	f := newFake(t, config())
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.event(2, up, 5, 150_000, sai.MarkHigh)
	f.want("both fill the queue", "1 pause 40000", "1 pause 40000")
	f.event(1, up, 5, 40_000, sai.MarkLow)
	f.want("one has drained")
	f.until(f.now + 25*ms)
	f.want("the other is refreshed", "1 pause 40000")
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.want("the first fills it again", "1 pause 40000")
	f.event(2, up, 5, 40_000, sai.MarkLow)
	f.want("the other has drained")
	f.event(1, up, 5, 40_000, sai.MarkLow)
	f.want("both have drained", "1 cancel 0")

	// A neighbor that sees them leave by two of its ports has two keys.
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.event(2, other, 5, 150_000, sai.MarkHigh)
	f.want("by two ports", "1 pause 40000", "2 pause 40000")
	f.event(1, up, 5, 40_000, sai.MarkLow)
	f.want("one port's has drained", "1 cancel 0")
	f.event(1, other, 5, 150_000, sai.MarkHigh)
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.until(f.now + 25*ms)
	f.take()
	f.event(2, other, 5, 40_000, sai.MarkLow)
	f.want("the other's, that the first one left", "2 cancel 0")
	f.core.end(f.now)
	f.want("the end", "1 pause 1")
	if n := len(f.core.asked); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// A message replaces the one before with its key: it asks for what all flows of the key ask for.
func TestFlowsOfOneStreamAskForTheStrictest(t *testing.T) {
	const otherQueue = queue + 1
	c := config()
	q := c.Queues[queue]
	q.Port, q.Threshold.Action, q.Threshold.Duration = down2, notify.Reduce(50), 10*time.Millisecond
	c.Queues[otherQueue] = q
	f := newFake(t, c)
	slow := func(octets uint64, mark sai.FlowMark) {
		f.depth[flowID{otherQueue, 2}] = octets
		e := sai.FlowEvent{Queue: otherQueue, InPort: up, Flow: 2, Octets: octets, Mark: mark, Length: sai.FlowHead, Head: head(source, sink, 5)}
		f.core.event(f.now, arrived(e))
	}
	start := f.now
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.until(start + 10*ms)
	slow(150_000, sai.MarkHigh)
	f.want("a pause, and a reduction", "1 pause 40000", "1 pause 30000")
	f.event(1, up, 5, 40_000, sai.MarkLow)
	f.until(start + 15*ms)
	f.want("the pause is over", "1 reduce 50% 10000")
	slow(40_000, sai.MarkLow)
	f.want("both are over", "1 cancel 0")
}

// The same at a border, whose neighbor is paused by PFC: as long as one of the flows asks, at each port
// that they come in by.
//
//conformance:draft-yang/pfc
func TestFlowsOfOneStreamPauseABorder(t *testing.T) {
	c := config()
	c.Translate = true
	c.Ports[1].Border = true
	f := newFake(t, c)
	f.event(1, border, 5, 150_000, sai.MarkHigh)
	f.event(2, border, 5, 150_000, sai.MarkHigh)
	f.event(3, other, 5, 150_000, sai.MarkHigh)
	f.take()
	f.event(1, border, 5, 40_000, sai.MarkLow)
	f.event(3, other, 5, 40_000, sai.MarkLow)
	f.want("of two ports one has drained", "2 pfc 8 false")
	f.event(2, border, 5, 40_000, sai.MarkLow)
	f.want("all have drained", "4 pfc 8 false")
}

// A flow that was given another label fills the queue as two: its gateway is told that it has drained
// by the last of them.
//
//conformance:draft-xz/trigger
func TestSessionWithTwoLabelsIsResumedOnce(t *testing.T) {
	f := newFake(t, telling())
	f.fills(1, source, sink, 7, 150_000, sai.MarkHigh)
	f.fills(2, source, sink, 7, 150_000, sai.MarkHigh)
	f.core.pairs.add(Learned{Pair: Pair{source, sink, 7}, SrcQP: 9})
	f.takeTold()
	f.fills(1, source, sink, 7, 40_000, sai.MarkLow)
	if got := f.takeTold(); len(got) != 0 {
		t.Errorf("one has drained: %+v", got)
	}
	f.fills(2, source, sink, 7, 40_000, sai.MarkLow)
	if got := f.takeTold(); len(got) != 1 || got[0].packet.PPFC.PT != notify.Resume {
		t.Errorf("both have drained: %+v", got)
	}
	f.fills(1, source, sink, 7, 150_000, sai.MarkHigh)
	f.core.end(f.now)
	if got := f.takeTold(); len(got) != 2 || got[1].packet.PPFC.PT != notify.Resume || len(f.core.asked) != 0 {
		t.Errorf("the end: %+v, %d keys are left", got, len(f.core.asked))
	}
}
