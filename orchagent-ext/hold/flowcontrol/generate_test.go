// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// A flow that passes its mark is asked for at the neighbor that it comes from, again at
// half the duration as long as it is above, by the depth that is read, and cancelled once
// it has drained.
//
//conformance:draft-yang/components draft-yang/signal draft-yang/upstream draft-yang/queue-id
func TestCongestedFlowIsHeldUpstream(t *testing.T) {
	for _, form := range []notify.Encapsulation{notify.ICMPv6, notify.HopByHop, notify.DestinationOptions} {
		c := config()
		c.Encapsulation = form
		f := newFake(t, c)
		start := f.now
		f.event(1, up, 0x12345, 150_000, sai.MarkHigh)
		f.until(start + 19*ms)
		got := f.take()
		want := notify.PFCM{Encapsulation: form, StreamID: streamOf(0x12345), QueueID: 3, Action: notify.Pause, Time: 40_000, Source: sender, Destination: sink}
		if len(got) != 1 || got[0].port != uint32(up) || got[0].to != link(0x11) || got[0].pfcm != want {
			t.Fatalf("%s: sent %+v, want %+v", form, got, want)
		}
		if q := time.Duration(f.core.downstream.Reaction.UpperQuantile(0.5)); f.core.downstream.Reaction.Count != 1 || q < 50*time.Microsecond || q > 55*time.Microsecond {
			t.Errorf("reaction %v of %d", q, f.core.downstream.Reaction.Count)
		}
		f.until(start + 45*ms)
		if got = f.take(); len(got) != 2 || got[0].at != start+20*ms || got[1].at != start+40*ms || got[0].pfcm != want {
			t.Fatalf("%s: refreshed %+v", form, got)
		}
		f.depth[idOf(queue, 1)] = 10 // the event of that is lost: the refresh reads it
		f.until(start + 60*ms)
		if got = f.take(); len(got) != 1 || got[0].pfcm.Action != notify.Cancel || got[0].pfcm.Time != 0 || got[0].pfcm.StreamID != want.StreamID {
			t.Fatalf("%s: cancelled %+v", form, got)
		}
		if f.core.detector.Flows() != 0 || f.core.next() < 1<<62 {
			t.Errorf("%d flows are left, next at %d", f.core.detector.Flows(), f.core.next())
		}
		f.event(1, up, 0x12345, 150_000, sai.MarkHigh)
		f.now += ms
		f.event(1, up, 0x12345, 40_000, sai.MarkLow)
		if got = f.take(); len(got) != 2 || got[1].pfcm.Action != notify.Cancel {
			t.Errorf("%s: an event that it drained: %+v", form, got)
		}
	}
}

// Who cannot be told, and about what nothing can be said, is counted once for each time
// of congestion.
func TestWhatCannotBeSaidIsCounted(t *testing.T) {
	v6 := func(e *sai.FlowEvent) {}
	for _, tt := range []struct {
		name   string
		change func(e *sai.FlowEvent)
		config func(c *Config)
		count  func(c *Counters) uint64
	}{
		{"a host", func(e *sai.FlowEvent) { e.InPort = host }, nil, func(c *Counters) uint64 { return c.Host }},
		{"IPv4", func(e *sai.FlowEvent) { e.Head[0] = 0x45; *e = *arrived(*e) }, nil, func(c *Counters) uint64 { return c.IPv4 }},
		{"a label that is lost", func(e *sai.FlowEvent) { e.Arrival = sai.Arrival{} }, nil, func(c *Counters) uint64 { return c.Relabelled }},
		{"no packet", func(e *sai.FlowEvent) { e.Length = 0 }, nil, func(c *Counters) uint64 { return c.Unreadable }},
		{"no port", func(e *sai.FlowEvent) { e.InPort = sai.Null }, nil, func(c *Counters) uint64 { return c.Unreadable }},
		{"a port that is not known", func(e *sai.FlowEvent) { e.InPort = 77 }, nil, func(c *Counters) uint64 { return c.Unreadable }},
		{"no neighbor", v6, func(c *Config) { c.Ports[0].Neighbor = netip.Addr{} }, func(c *Counters) uint64 { return c.NoNeighbor }},
		{"no address", v6, func(c *Config) { c.Ports[0].Self = netip.Addr{} }, func(c *Counters) uint64 { return c.NoNeighbor }},
	} {
		c := config()
		if tt.config != nil {
			tt.config(c)
		}
		f := newFake(t, c)
		e := arrived(sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Octets: 150_000, Mark: sai.MarkHigh, Length: sai.FlowHead, Head: head(sender, sink, 5)})
		tt.change(e)
		f.depth[idOf(queue, 1)] = 150_000
		for range 5 {
			f.core.event(f.now, e)
			f.until(f.now + 30*ms)
		}
		if n := tt.count(&f.core.kernel.Counters); n != 1 || len(f.sent) != 0 {
			t.Errorf("%s: counted %d, sent %+v", tt.name, n, f.sent)
		}
	}
}

// A flow is named as the neighbor sends it: by the addresses and the label with which its
// packets arrived, whatever they leave with. What it leaves with does not change that.
//
//conformance:draft-yang/addresses
func TestFlowIsNamedAsItArrived(t *testing.T) {
	segment, next := netip.MustParseAddr("2001:db8:5::1"), netip.MustParseAddr("2001:db8:5::2")
	for name, label := range map[string]uint32{"without a label": 0, "with another label": 0x777} {
		f := newFake(t, config())
		f.depth[idOf(queue, 1)] = 150_000
		e := sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Octets: 150_000, Mark: sai.MarkHigh, Length: sai.FlowHead, Head: head(sender, next, 0x54321)}
		e.Arrival = sai.Arrival{Known: true, FlowLabel: label, Src: sai.AddressOf(sender), Dst: sai.AddressOf(segment)}
		f.core.event(f.now, &e)
		want := flow.HashStreamID(7, sender.As16(), segment.As16(), label)
		if got := f.take(); len(got) != 1 || got[0].pfcm.StreamID != want || got[0].pfcm.Source != sender || got[0].pfcm.Destination != segment {
			t.Errorf("%s: %+v, want stream %#x of %s", name, got, want, segment)
		}
		// Of a packet that leaves the switch knows no arrival: nothing changes.
		e.Arrival = sai.Arrival{}
		f.now += 20 * ms
		f.core.event(f.now, &e)
		if got := f.take(); len(got) != 1 || got[0].pfcm.StreamID != want {
			t.Errorf("%s: refreshed %+v", name, got)
		}
		// Its sender takes another label: what was asked for the old one is over.
		e.Arrival = sai.Arrival{Known: true, FlowLabel: 9, Src: sai.AddressOf(sender), Dst: sai.AddressOf(segment)}
		f.now += 20 * ms
		f.core.event(f.now, &e)
		moved := flow.HashStreamID(7, sender.As16(), segment.As16(), 9)
		if got := f.take(); len(got) != 2 || got[0].pfcm.StreamID != want || got[0].pfcm.Action != notify.Cancel || got[1].pfcm.StreamID != moved || got[1].pfcm.Action != notify.Pause {
			t.Errorf("%s: with another label %+v", name, got)
		}
	}
}

// A flow that comes by another port from now on is asked for there, and no longer where
// it came from.
//
//conformance:draft-yang/upstream
func TestFlowMovesToAnotherPort(t *testing.T) {
	f := newFake(t, config())
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.take()
	f.now += 20 * ms
	f.event(1, other, 5, 150_000, sai.MarkHigh)
	got := f.take()
	if len(got) != 2 || got[0].port != uint32(up) || got[0].pfcm.Action != notify.Cancel || got[1].port != uint32(other) || got[1].pfcm.Action != notify.Pause {
		t.Errorf("%+v", got)
	}
}

// Its former neighbor is told, too, where it comes by a border port from now on and is held here.
func TestHeldFlowMovesToABorder(t *testing.T) {
	c := config()
	c.Translate = true
	f := newFake(t, c)
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.receive(down1, pause(streamOf(5), 40_000))
	f.take()
	f.now += 20 * ms
	f.event(1, borderPort, 5, 150_000, sai.MarkHigh)
	f.want("at both ports", "1 cancel 0", "4 pfc 8 true")
}

// The send rate bounds what is asked, and never a cancel.
func TestSendRate(t *testing.T) {
	c := config()
	c.Send = Rate{PerSecond: 10, Burst: 5}
	f := newFake(t, c)
	for i := range uint64(20) {
		f.event(i+1, up, uint32(i), 150_000, sai.MarkHigh)
	}
	if n := len(f.take()); n != 5 || f.core.kernel.Counters.TxPoliced != 15 {
		t.Errorf("sent %d, policed %d", n, f.core.kernel.Counters.TxPoliced)
	}
	for i := range uint64(20) {
		f.event(i+1, up, uint32(i), 0, sai.MarkLow)
	}
	if n := len(f.take()); n != 5 {
		t.Errorf("%d cancels", n)
	}
}

// A message that the kernel refuses is counted, and tried again with the next refresh.
func TestSendThatFails(t *testing.T) {
	f := newFake(t, config())
	f.drops = true
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.drops = false
	f.until(f.now + 25*ms)
	if got := f.take(); len(got) != 1 || f.core.kernel.Counters.SendFailed != 1 || f.core.kernel.Counters.Sent != 1 {
		t.Errorf("sent %+v, failed %d", got, f.core.kernel.Counters.SendFailed)
	}
}

// A border that receives a PFCM translates its queue and its time, once packets of the flow
// wait; a refresh and a cancel at once. PFC cannot reduce, and has 8 queues.
//
//conformance:draft-yang/pfc draft-yang/pfc-queue draft-yang/pfc-quanta
func TestBorderTranslatesThePFCMThatItReceives(t *testing.T) {
	c := config()
	c.Generate, c.Translate = false, true
	paused := func(f *fake, priority uint8, until int64) {
		t.Helper()
		all := f.take()
		if len(all) == 0 {
			t.Fatal("no frame")
		}
		for _, s := range all {
			ends := s.at + int64(notify.QuantaDuration(s.pfc.Quanta[priority], 100_000))
			if !s.frame || s.port != uint32(borderPort) || s.pfc.Enable != 1<<priority || ends > until+ms {
				t.Fatalf("%+v, until %d of %d", s, ends, until)
			}
		}
	}
	m := pause(streamOf(5), 300) // µs, less than 65,535 quanta at 100 Gbit/s
	m.QueueID = 6                // its own queue is 3
	f := newFake(t, c)
	f.receive(down1, m)
	if got := f.take(); len(got) != 0 {
		t.Fatalf("before packets wait: %+v", got)
	}
	f.event(1, borderPort, 5, 150_000, sai.MarkHigh)
	all := f.take()
	if want := notify.Quanta(300, 100_000); len(all) != 1 || all[0].pfc.Enable != 1<<6 || all[0].pfc.Quanta[6] != want {
		t.Fatalf("%+v, want %d quanta of priority 6", all, want)
	}
	m.Time = 20_000
	f.receive(down1, m)
	f.until(f.now + 10*ms)
	paused(f, 6, f.now+10*ms)
	m.Action, m.Time = notify.Cancel, 0
	f.receive(down1, m)
	if got := f.take(); len(got) != 1 || got[0].pfc.Enable != 1<<6 || got[0].pfc.Quanta[6] != 0 {
		t.Errorf("cancelled: %+v", got)
	}
	for name, change := range map[string]func(*notify.PFCM){
		"a reduction": func(m *notify.PFCM) { m.Action = notify.Reduce(30) },
		"queue 8":     func(m *notify.PFCM) { m.QueueID = 8 },
	} {
		f := newFake(t, c)
		m := pause(streamOf(5), 40_000)
		change(&m)
		f.receive(down1, m)
		f.event(1, borderPort, 5, 150_000, sai.MarkHigh)
		if got := f.take(); len(got) != 0 || f.core.kernel.Counters.NotTranslated != 1 {
			t.Errorf("%s: %+v, %d not translated", name, got, f.core.kernel.Counters.NotTranslated)
		}
	}
	// Without translation, and by another port, nothing is paused; its end opens the port.
	f = newFake(t, c)
	f.receive(down1, pause(streamOf(5), 40_000))
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	if got := f.take(); len(got) != 0 {
		t.Errorf("by a port that is no border's: %+v", got)
	}
	f.event(2, borderPort, 5, 150_000, sai.MarkHigh)
	f.take()
	f.core.end(f.now)
	if got := f.take(); len(got) != 1 || got[0].pfc.Quanta[3] != 0 {
		t.Errorf("at the end: %+v", got)
	}
}

// At a border the neighbor gets PFC: paused as long as the flow is congested, resumed
// when it has drained, for at most 100 ms without a break. A reduction is not translated.
//
//conformance:draft-yang/pfc
func TestBorderTranslates(t *testing.T) {
	c := config()
	c.Translate = true
	f := newFake(t, c)
	start := f.now
	f.event(1, borderPort, 5, 150_000, sai.MarkHigh)
	f.until(start + 30*ms)
	got := f.take()
	if len(got) < 50 { // 65,535 quanta at 100 Gbit/s are 336 µs
		t.Fatalf("%d frames in 30 ms", len(got))
	}
	for _, s := range got {
		if !s.frame || s.port != uint32(borderPort) || s.pfc.Enable != 1<<3 || s.pfc.Quanta[3] == 0 {
			t.Fatalf("%+v", s)
		}
	}
	f.event(1, borderPort, 5, 0, sai.MarkLow)
	if got = f.take(); len(got) != 1 || got[0].pfc.Enable != 1<<3 || got[0].pfc.Quanta[3] != 0 {
		t.Errorf("drained: %+v", got)
	}
	f.event(1, borderPort, 5, 150_000, sai.MarkHigh)
	begin := f.now
	f.until(begin + 150*ms)
	got = f.take()
	if last := got[len(got)-1]; last.at != begin+100*ms || last.pfc.Quanta[3] != 0 || f.core.kernel.Counters.PFCBudget != 1 {
		t.Errorf("last frame at %d ms: %+v, budget used up %d times", (last.at-begin)/ms, last.pfc, f.core.kernel.Counters.PFCBudget)
	}
	q := c.Queues[queue]
	q.Threshold.Action = notify.Reduce(50)
	c.Queues[queue] = q
	f = newFake(t, c)
	f.event(1, borderPort, 5, 150_000, sai.MarkHigh)
	if len(f.take()) != 0 || f.core.kernel.Counters.NotTranslated != 1 {
		t.Errorf("a reduction: %d not translated", f.core.kernel.Counters.NotTranslated)
	}
}

// What the configuration no longer wants ends at the neighbor, and so does all at the end. It is not
// cancelled: that would say that the queue has room.
func TestConfigurationEndsWhatWasAsked(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"generate is off":       func(c *Config) { c.Generate = false },
		"the threshold is gone": func(c *Config) { c.Queues = nil },
	} {
		f := newFake(t, config())
		f.event(1, up, 5, 150_000, sai.MarkHigh)
		c := config()
		change(c)
		f.core.configure(f.now, newSettings(c))
		if got := f.take(); len(got) != 2 || got[1].pfcm.Action != notify.Pause || got[1].pfcm.Time != 1 || f.core.detector.Flows() != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	f := newFake(t, config())
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	f.core.configure(f.now, newSettings(config()))
	if got := f.take(); len(got) != 1 {
		t.Errorf("a configuration that changes nothing: %+v", got)
	}
	f.receive(down1, pause(9, 40_000))
	f.core.end(f.now)
	got := f.take()
	if f.until(f.now + ms); len(got) != 1 || got[0].pfcm.Action != notify.Pause || got[0].pfcm.Time != 1 || len(f.holds) != 0 {
		t.Errorf("at the end: %+v, holds %v", got, f.holds)
	}
}

// A hold is released where its neighbor says that there is room; one that ends for another reason runs
// out, so that the switch sends what waits at the rate of the next queue.
func TestHoldsRunOutWithoutAResume(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(f *fake)
		want []time.Duration // of holds that are set after the first
	}{
		"resumed":              {func(f *fake) { f.receive(down1, notify.PFCM{StreamID: 9, QueueID: 3, Action: notify.Cancel}) }, []time.Duration{0, 0}},
		"over":                 {func(f *fake) { f.until(f.now + 41*ms) }, nil},
		"obedience is off":     {func(f *fake) { c := config(); c.Obey = false; f.core.configure(f.now, newSettings(c)) }, []time.Duration{time.Microsecond, time.Microsecond}},
		"the neighbor went on": {func(f *fake) { f.receive(down1, pause(9, 1)); f.until(f.now + ms) }, []time.Duration{time.Microsecond, time.Microsecond}},
		"the end":              {func(f *fake) { f.core.end(f.now) }, []time.Duration{time.Microsecond, time.Microsecond}},
	} {
		f := newFake(t, config())
		f.receive(down1, pause(9, 40_000))
		f.asked = nil
		tt.end(f)
		var got []time.Duration
		for _, call := range f.asked {
			got = append(got, call.d)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
