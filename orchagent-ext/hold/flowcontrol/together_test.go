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
	if n := (f.core.downstream.Open() + f.core.gateways.Open()); n != 0 {
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
		f.depth[idOf(otherQueue, 2)] = octets
		e := sai.FlowEvent{Queue: otherQueue, InPort: up, Flow: 2, Octets: octets, Mark: mark, Length: sai.FlowHead, Head: head(sender, sink, 5)}
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

// However many flows have one Stream ID, what was asked for one of them is not repeated at once for the
// others; and the neighbor is asked for more a quarter of the time before it would go on, also when
// the flow that asked has drained.
func TestFlowsOfOneStreamAreRefreshedTogether(t *testing.T) {
	const flows = 16
	f := newFake(t, config())
	for id := range uint64(flows) {
		f.event(id, up, 5, 150_000, sai.MarkHigh)
		f.until(f.now + ms)
	}
	sent, until := 0, int64(0)
	follow := func(to int64) {
		for f.now < to {
			f.until(min(f.now+ms/4, to))
			for _, m := range f.take() {
				sent++
				until = m.at + int64(m.pfcm.Time)*1000
			}
			if left := until - f.now; left < 10*ms-ms/4 {
				t.Fatalf("at %d ms the neighbor was asked for %d us more", f.now/ms, left/1000)
			}
		}
	}
	f.take()
	until = f.now + 39*ms
	follow(f.now + 1000*ms)
	if sent < 50 || sent > 100 {
		t.Errorf("%d messages in a second, want one each 10 to 20 ms", sent)
	}
	for id := range uint64(flows - 1) {
		f.event(id, up, 5, 0, sai.MarkLow)
		follow(f.now + 7*ms)
	}
	sent = 0
	if follow(f.now + 1000*ms); sent < 50 || sent > 51 {
		t.Errorf("%d messages in a second for the last one, want one each 20 ms", sent)
	}
}

// The refresh of one flow takes its place only where it asks for as much: a hold that was asked of
// this switch ends when its neighbor said.
func TestFlowsOfOneStreamThatWaitHereAreRefreshedWithTheirHold(t *testing.T) {
	f := newFake(t, config())
	start, id := f.now, streamOf(5)
	f.receive(down1, pause(id, 40_000))
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.event(2, up, 5, 150_000, sai.MarkHigh)
	f.until(start + 5*ms)
	f.event(3, up, 5, 150_000, sai.MarkHigh)
	f.want("all wait here", "1 pause 40000", "1 pause 40000", "1 pause 35000")
	f.until(start + 18*ms)
	f.receive(down1, pause(id, 30_000))
	f.until(start + 21*ms)
	f.want("the neighbor has refreshed", "1 pause 28000")
	f.receive(down1, pause(id, 32_000))
	f.until(start + 24*ms)
	f.want("and again")
	f.until(start + 26*ms)
	f.want("for the third flow", "1 pause 28000")
}

// Whether the neighbor has what was asked before its link was down is not known: it is asked again.
func TestFlowsOfOneStreamAreAskedForAfterTheLinkWasDown(t *testing.T) {
	f := newFake(t, config())
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.event(2, up, 5, 150_000, sai.MarkHigh)
	f.take()
	f.whileDown(func() {})
	f.want("the link is back", "1 pause 40000", "1 pause 40000")
}

// Another action in the configuration is asked for at each flow's next turn, and the former one by none.
func TestFlowsOfOneStreamAskForAnotherAction(t *testing.T) {
	f := newFake(t, config())
	for id := range uint64(4) {
		f.event(id, up, 5, 150_000, sai.MarkHigh)
		f.until(f.now + 4*ms)
	}
	c := config()
	q := c.Queues[queue]
	q.Threshold.Action = notify.Reduce(50)
	c.Queues[queue] = q
	f.core.configure(f.now, newSettings(c))
	f.until(f.now + 20*ms)
	f.take()
	f.until(f.now + 100*ms)
	for _, m := range f.take() {
		if m.pfcm.Action != q.Threshold.Action {
			t.Fatalf("asked for %v 20 ms later", m.pfcm.Action)
		}
	}
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
	f.event(1, borderPort, 5, 150_000, sai.MarkHigh)
	f.event(2, borderPort, 5, 150_000, sai.MarkHigh)
	f.event(3, other, 5, 150_000, sai.MarkHigh)
	f.take()
	f.event(1, borderPort, 5, 40_000, sai.MarkLow)
	f.event(3, other, 5, 40_000, sai.MarkLow)
	f.want("of two ports one has drained", "2 pfc 8 false")
	f.event(2, borderPort, 5, 40_000, sai.MarkLow)
	f.want("all have drained", "4 pfc 8 false")
}

// A flow that was given another label fills the queue as two: its gateway is told that it has drained
// by the last of them.
//
//conformance:draft-xz/trigger
func TestSessionWithTwoLabelsIsResumedOnce(t *testing.T) {
	f := newFake(t, telling())
	f.fills(1, sender, sink, 7, 150_000, sai.MarkHigh)
	f.fills(2, sender, sink, 7, 150_000, sai.MarkHigh)
	f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 7), SrcQP: 9})
	f.takeTold()
	f.fills(1, sender, sink, 7, 40_000, sai.MarkLow)
	if got := f.takeTold(); len(got) != 0 {
		t.Errorf("one has drained: %+v", got)
	}
	f.fills(2, sender, sink, 7, 40_000, sai.MarkLow)
	if got := f.takeTold(); len(got) != 1 || got[0].packet.PPFC.PT != notify.Resume {
		t.Errorf("both have drained: %+v", got)
	}
	f.fills(1, sender, sink, 7, 150_000, sai.MarkHigh)
	f.core.end(f.now)
	if got := f.takeTold(); len(got) != 2 || got[1].packet.PPFC.PT != notify.Resume || (f.core.downstream.Open()+f.core.gateways.Open()) != 0 {
		t.Errorf("the end: %+v, %d keys are left", got, (f.core.downstream.Open() + f.core.gateways.Open()))
	}
}
